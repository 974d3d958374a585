//! Memory for the whole process: what is large lies in large pages, and goes back to the system as soon as it is freed.
//!
//! Over many names, and in a virtual machine over few ones, much of what a query waits for is the translation of addresses. A
//! large page (2 MiB, Linux's transparent huge pages, as far as the administrator lets us have them) needs one where small ones
//! need 512. A vector can't be told to begin where a large page does, so this stands below all of them, and hardly anything above
//! knows of it.
//!
//! What is needed for a while only, or grows all the time, lies in small pages, if it is [said so](in_small_pages): a system that has to
//! put a large page together, or to get it back from a host that it was lent to, takes milliseconds for each, all at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// Octets of a large page; what is no smaller is large.
const LARGE_PAGE: usize = 2 << 20;
/// Sizes are multiples of this, as all systems want it, however large their small pages are.
const PAGE: usize = 64 << 10;

/// The allocator of a process; see the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct LargePages;

thread_local! {
    static SMALL: Cell<bool> = const { Cell::new(false) };
}

/// Does work of which the memory is needed for a while only, or not to answer queries, or grows all the time: what this thread
/// takes meanwhile lies in small pages, and stays there also as it grows.
pub fn in_small_pages<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            SMALL.set(self.0);
        }
    }
    let _before = Before(SMALL.replace(true));
    work()
}

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE_PAGE && layout.align() <= LARGE_PAGE
}

/// Whole small pages; none where there are not so many octets in the world. What is behind the last whole large page lies in
/// small ones: one octet written there must not take two megabytes.
fn whole(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(PAGE).filter(|size| *size <= isize::MAX as usize - LARGE_PAGE)
}

/// New memory of `size` octets, all zero, from the start of a large page.
fn map(size: usize) -> Option<NonNull<u8>> {
    let memory = reserve(size, libc::PROT_READ | libc::PROT_WRITE, 0)?;
    if !SMALL.get() {
        // SAFETY: the advice changes neither what memory holds nor whether it may be used.
        unsafe { libc::madvise(memory.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
    }
    Some(memory)
}

/// `size` new octets of address space from the start of a large page.
fn reserve(size: usize, protection: libc::c_int, flags: libc::c_int) -> Option<NonNull<u8>> {
    let room = size.checked_add(LARGE_PAGE)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: new memory wherever the system likes: nobody else's is touched.
    let start = unsafe { libc::mmap(ptr::null_mut(), room, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start = start.cast::<u8>();
    let front = start.align_offset(LARGE_PAGE);
    // SAFETY: the room is one large page longer than what is kept, so that front, memory and back lie in it one behind the other.
    // Nobody knows of front and back yet.
    unsafe {
        let memory = start.add(front);
        unmap(start, front);
        unmap(memory.add(size), LARGE_PAGE - front);
        NonNull::new(memory)
    }
}

/// Gives memory back.
///
/// # Safety
///
/// The `size` octets at `start` are whole pages of [`reserve`], and nobody uses them any more.
unsafe fn unmap(start: *mut u8, size: usize) {
    if size == 0 {
        return;
    }
    // SAFETY: said above.
    if unsafe { libc::munmap(start.cast(), size) } != 0 {
        // There are as many pieces of memory as a process may have, and this would make one more: the addresses are lost.
        // SAFETY: what is there is not needed any more.
        unsafe { libc::madvise(start.cast(), size, libc::MADV_DONTNEED) };
    }
}

/// Memory of [`map`] with another size, moved page by page without a copy where it can't grow on the spot.
///
/// # Safety
///
/// `old` octets at `start` are memory of [`map`], which is not used any more if this succeeds.
unsafe fn remap(start: *mut u8, old: usize, new: usize) -> Option<NonNull<u8>> {
    // SAFETY: said above; without further flags it stays where it is.
    let grown = unsafe { libc::mremap(start.cast(), old, new, 0) };
    if grown != libc::MAP_FAILED {
        return NonNull::new(grown.cast());
    }
    // Only addresses, which nobody counts as memory.
    let memory = reserve(new, libc::PROT_NONE, libc::MAP_NORESERVE)?;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: what it moves onto is ours, as large, and nobody knows of it yet.
    let moved = unsafe { libc::mremap(start.cast(), old, new, flags, memory.as_ptr()) };
    // Where it fails, these addresses may be free already, and somebody else's: they are left alone.
    (moved != libc::MAP_FAILED).then_some(memory)
}

/// From this size on, what the system's allocator gives to code in C goes back to the system at once when it is freed: a megabyte.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 1 << 20;

/// Has the system's allocator give large memory back. By itself it would learn from the first large text that is freed to keep as
/// much for later, a heap for each thread.
pub fn give_back_large_memory() {
    #[cfg(target_env = "gnu")]
    for option in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: it sets a number in the allocator, under the allocator's own lock, and touches no memory of ours.
        unsafe { libc::mallopt(option, LARGE) };
    }
}

// SAFETY: what is small is the system's allocator's. What is large is memory of its own for each, of the size that follows from
// the layout, aligned for more than the layout wants; both sides of each pair decide by the layout alone which of the two it is.
// Nothing here panics.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_large(layout) {
            // SAFETY: handed on as it came.
            return unsafe { System.alloc(layout) };
        }
        whole(layout.size()).and_then(map).map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_large(layout) {
            // SAFETY: handed on as it came.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: handed on as it came; new pages are zero.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match whole(layout.size()).filter(|_| is_large(layout)) {
            // SAFETY: it was mapped with this size, and its owner gives it up.
            Some(size) => unsafe { unmap(memory, size) },
            // SAFETY: handed on as it came.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller sees to it that the size is one that a layout may have.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (is_large(layout), is_large(wanted)) {
            // SAFETY: handed on as it came.
            (false, false) => unsafe { System.realloc(memory, layout, size) },
            (true, true) => match whole(layout.size()).zip(whole(size)) {
                Some((old, new)) if old == new => memory,
                // SAFETY: it was mapped with the old size, and its owner goes on with what is returned, if anything is.
                Some((old, new)) => unsafe { remap(memory, old, new) }.map_or(ptr::null_mut(), NonNull::as_ptr),
                None => ptr::null_mut(),
            },
            // SAFETY: as the caller would do it by hand: both pieces are as long as what is copied, and apart.
            _ => unsafe {
                let moved = self.alloc(wanted);
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(memory, moved, layout.size().min(size));
                    self.dealloc(memory, layout);
                }
                moved
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 64).unwrap()
    }

    /// What is written stays through all changes of size, and what comes new from `alloc_zeroed` is zero.
    #[test]
    fn memory_keeps_what_it_holds_while_it_grows_and_shrinks() {
        const M: usize = 1 << 20;
        let sizes =
            [10, M, 2 * M - 1, 2 * M, 2 * M + 1, 3 * M, 4 * M, 40 * M, 41 * M, 5 * M, 2 * M, M, 8 * M, 1, 100 * M];
        for others in [false, true] {
            // SAFETY: each piece is used within its size, and given up with the layout that it has.
            unsafe {
                let mut held = layout(sizes[0]);
                let mut memory = LargePages.alloc_zeroed(held);
                memory.write(1);
                let mut between = Vec::new();
                for (number, size) in (2..).zip(&sizes[1..]) {
                    let last = held.size().min(*size) - 1;
                    memory.add(last).write(number);
                    memory.write(1);
                    memory = LargePages.realloc(memory, held, *size);
                    held = layout(*size);
                    assert!(!memory.is_null());
                    assert_eq!(memory.add(last).read(), if last == 0 { 1 } else { number }, "{size}");
                    assert_eq!(memory.addr() % if is_large(held) { LARGE_PAGE } else { 64 }, 0);
                    memory.add(size - 1).write(9);
                    if others {
                        // Something that stands in the way.
                        let zeroed = LargePages.alloc_zeroed(held);
                        let octets = std::slice::from_raw_parts(zeroed, *size);
                        assert!(octets.iter().all(|octet| *octet == 0));
                        between.push((zeroed, held));
                    }
                }
                LargePages.dealloc(memory, held);
                between.into_iter().for_each(|(memory, layout)| LargePages.dealloc(memory, layout));
            }
        }
    }

    /// Whether large pages were asked for where this memory lies, as the kernel tells.
    #[cfg(target_os = "linux")]
    fn asks_for_large(memory: *mut u8) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let holds = |line: &str| {
            let (start, end) = line.split_once(' ')?.0.split_once('-')?;
            let [start, end] = [start, end].map(|digits| usize::from_str_radix(digits, 16).ok());
            Some((start?..end?).contains(&memory.addr()))
        };
        let behind = maps.lines().skip_while(|line| holds(line) != Some(true));
        let flags = behind.filter_map(|line| line.strip_prefix("VmFlags:")).next().unwrap();
        flags.split(' ').any(|flag| flag == "hg")
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_needed_for_a_while_lies_in_small_pages_and_stays_there() {
        let large = layout(3 * LARGE_PAGE);
        // SAFETY: each piece has the layout with which it is given up.
        unsafe {
            let takes = || LargePages.alloc(large);
            let passing = in_small_pages(|| {
                let first = in_small_pages(takes);
                assert!(!asks_for_large(first));
                LargePages.dealloc(first, large);
                takes()
            });
            let _ = std::panic::catch_unwind(|| in_small_pages(|| panic!("the work fails")));
            let lasting = takes();
            let offered = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists();
            assert_eq!([passing, lasting].map(asks_for_large), [false, offered]);
            let grown = LargePages.realloc(passing, large, 40 * LARGE_PAGE);
            assert!(!asks_for_large(grown));
            LargePages.dealloc(grown, layout(40 * LARGE_PAGE));
            LargePages.dealloc(lasting, large);
        }
    }

    #[test]
    fn what_nobody_can_have_is_refused() {
        let layout = Layout::from_size_align(isize::MAX as usize - 8, 8).unwrap();
        // SAFETY: nothing is done with it.
        assert!(unsafe { LargePages.alloc(layout) }.is_null());
        // SAFETY: the layout has a size.
        let memory = unsafe { LargePages.alloc(self::layout(LARGE_PAGE)) };
        // SAFETY: it has that layout, and still has it after a failure.
        unsafe {
            assert!(LargePages.realloc(memory, self::layout(LARGE_PAGE), isize::MAX as usize - 64).is_null());
            memory.write(7);
            LargePages.dealloc(memory, self::layout(LARGE_PAGE));
        }
    }
}
