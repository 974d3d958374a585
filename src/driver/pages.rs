//! Memory in large pages for what queries are answered from.

use crate::snapshot::memory::Memory;

/// Less than this is not worth asking: two large pages.
const WORTH_IT: usize = 4 << 20;

/// Asks the system for large pages (transparent huge pages of Linux, as far as the administrator lets us have them).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LargePages;

impl Memory for LargePages {
    fn reserve<T>(&self, count: usize) -> Vec<T> {
        let mut memory = Vec::with_capacity(count);
        let room = memory.spare_capacity_mut();
        let size = size_of_val(room);
        if size >= WORTH_IT {
            advise(room.as_mut_ptr().addr(), size);
        }
        memory
    }
}

/// Says that these octets are best put into large pages. Where the system will not, they stay where they are.
fn advise(start: usize, size: usize) {
    // SAFETY: sysconf only looks something up.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let first = start.next_multiple_of(page);
    let size = (start + size).saturating_sub(first) / page * page;
    // SAFETY: MADV_HUGEPAGE changes neither what memory holds nor whether it may be used, whoever it belongs to; the range
    // is one of whole pages.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(first), size, libc::MADV_HUGEPAGE) };
}

/// From this size on, what is allocated is the system's and goes back to it at once when it is freed: a megabyte.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 1 << 20;

/// Has the allocator give large memory back to the system. By itself it learns from the first large zone that is freed to
/// keep as much for later, a heap for each thread: with two sites of a million names that was a third of all memory.
pub(super) fn give_back_large_memory() {
    #[cfg(target_env = "gnu")]
    for option in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: it sets a number in the allocator, under the allocator's own lock, and touches no memory of ours.
        unsafe { libc::mallopt(option, LARGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_as_much_as_was_asked_for() {
        for count in [0, 1, WORTH_IT / 8, WORTH_IT + 1] {
            let mut memory: Vec<u64> = LargePages.reserve(count);
            assert!(memory.is_empty() && memory.capacity() >= count);
            memory.resize(count, 7);
            assert!(memory.iter().all(|number| *number == 7));
        }
    }
}
