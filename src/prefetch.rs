//! Having memory at hand before it is needed.

/// Octets of a cache line, as almost all processors have them.
pub const LINE: usize = 64;

/// Lets the processor fetch the cache line in which `what` begins, while it goes on with other work. Nothing else happens, and
/// where there is no such instruction nothing at all.
#[inline(always)]
pub fn prefetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: all processors of this kind have the instruction; it changes nothing and never faults, whatever it is given.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: all processors of this kind have the instruction; it changes nothing and never faults, whatever it is given.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) std::ptr::from_ref(what), options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = what;
}
