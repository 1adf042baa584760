// SPDX-License-Identifier: Apache-2.0
//
// example.rs: heaptap from Rust, without a crate: the table is looked up by its symbol.

use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_uint, c_void};

#[repr(C)]
#[derive(Default, Debug)]
struct Measured {
    allocations: u64,
    deallocations: u64,
    requested: u64,
    allocated: u64,
    deallocated: u64,
    added: i64,
    highest: i64,
    lowest: i64,
    largest: u64,
}

// As struct heaptap_api in heaptap.h, as far as it is needed here.
#[repr(C)]
struct Api {
    size: u32,
    version: u32,
    active: extern "C" fn() -> c_int,
    start: extern "C" fn() -> c_int,
    stop: extern "C" fn() -> c_int,
    pause: extern "C" fn(),
    resume: extern "C" fn(),
    mark: extern "C" fn(*const c_char),
    region_begin: extern "C" fn(*const c_char, *const i64, usize),
    region_end: extern "C" fn(*const c_char),
    thread_name: extern "C" fn(*const c_char),
    range_name: extern "C" fn(*const c_void, usize, *const c_char),
    measure_begin: extern "C" fn(c_uint) -> i64,
    measure_read: extern "C" fn(i64, *mut Measured, usize) -> c_int,
    measure_end: extern "C" fn(i64, *mut Measured, usize) -> c_int,
}

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn text(bytes: &'static [u8]) -> &'static CStr {
    CStr::from_bytes_with_nul(bytes).unwrap()
}

// The agent's functions, or None if the program does not run under heaptap.
fn heaptap() -> Option<&'static Api> {
    unsafe {
        let symbol = dlsym(std::ptr::null_mut(), text(b"heaptap_api\0").as_ptr());
        if symbol.is_null() {
            return None;
        }
        let api: extern "C" fn(usize) -> *const Api = std::mem::transmute(symbol);
        api(std::mem::size_of::<Api>()).as_ref()
    }
}

// A region that ends with its scope.
struct Region(&'static CStr);

impl Region {
    fn new(name: &'static CStr, ids: &[i64]) -> Region {
        if let Some(api) = heaptap() {
            (api.region_begin)(name.as_ptr(), ids.as_ptr(), ids.len());
        }
        Region(name)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(api) = heaptap() {
            (api.region_end)(self.0.as_ptr());
        }
    }
}

fn main() {
    let api = match heaptap() {
        Some(api) => api,
        None => return println!("loaded 0"),
    };
    let _region = Region::new(text(b"from Rust\0"), &[1, 2]);
    let measure = (api.measure_begin)(0);
    let numbers: Vec<u64> = Vec::with_capacity(1000);
    let mut m = Measured::default();
    (api.measure_end)(measure, &mut m, std::mem::size_of::<Measured>());
    println!("loaded 1 allocations {} requested {}", m.allocations, m.requested);
    drop(numbers);
}
