//! A large buffer of whole pages.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapMut;

use crate::{Buffer, BufferMut, OwnedBytes};

/// Size of the pages that are asked for where the system has huge ones.
const HUGE_PAGE_BYTES: u64 = 2 << 20;
const PAGE_BYTES: u64 = 4 << 10;

/// Bytes of all slabs of this process.
static ALIVE: AtomicU64 = AtomicU64::new(0);

/// Zeroed memory straight from the system, in huge pages where it has them and the slab has 2 MiB or more. Its start is the start of a
/// page, so it can be viewed as any plain value. It goes back to the system when dropped; the allocator never hears of it.
pub struct PageSlab {
    map: MmapMut,
    huge: bool,
}

impl PageSlab {
    /// At least `bytes` bytes.
    ///
    /// # Errors
    /// The system's reason, usually that it has no memory.
    pub fn new(bytes: u64) -> io::Result<Self> {
        let too_large = || io::Error::new(io::ErrorKind::OutOfMemory, format!("{bytes} bytes are more than this system can address"));
        let rounded = Self::rounded(bytes);
        let map = MmapMut::map_anon(usize::try_from(rounded).map_err(|_| too_large())?)?;
        #[cfg(target_os = "linux")]
        let huge = map.advise(memmap2::Advice::HugePage).is_ok();
        #[cfg(not(target_os = "linux"))]
        let huge = false;
        ALIVE.fetch_add(rounded, Ordering::Relaxed);
        Ok(Self { map, huge })
    }

    /// What a slab for `bytes` bytes owns: whole pages, from 2 MiB on whole huge pages. What no system has is not rounded.
    #[must_use]
    pub fn rounded(bytes: u64) -> u64 {
        let page = if bytes < HUGE_PAGE_BYTES { PAGE_BYTES } else { HUGE_PAGE_BYTES };
        bytes.max(1).checked_next_multiple_of(page).unwrap_or(bytes)
    }

    /// Bytes of all slabs of this process: what its books have and its allocator does not know.
    #[must_use]
    pub fn alive_bytes() -> u64 {
        ALIVE.load(Ordering::Relaxed)
    }

    /// Whether the system took the request for huge pages; it gives them as it has them.
    #[must_use]
    pub fn asked_for_huge_pages(&self) -> bool {
        self.huge
    }
}

impl fmt::Debug for PageSlab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageSlab").field("bytes", &self.map.len()).field("huge", &self.huge).finish()
    }
}

impl Drop for PageSlab {
    fn drop(&mut self) {
        ALIVE.fetch_sub(self.map.len() as u64, Ordering::Relaxed);
    }
}

impl OwnedBytes for PageSlab {
    fn owned_bytes(&self) -> u64 {
        self.map.len() as u64
    }
}

impl Buffer for PageSlab {
    type Contents = [u8];
    fn contents(&self) -> &[u8] {
        &self.map
    }
}

impl BufferMut for PageSlab {
    fn contents_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}
