//! The VFS as `SQLite` sees it: C functions around those of the `unix` VFS.

#![expect(
    unsafe_code,
    reason = "a VFS is a table of C functions, which SQLite calls with raw pointers"
)]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::MutexGuard;

use rusqlite::ffi::{
    self, SQLITE_IOERR, SQLITE_OK, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs,
};

use super::plan::Call;
use super::{Shared, State};

/// What a registered VFS points to.
struct Host {
    shared: &'static Shared,
    real: *mut sqlite3_vfs,
}

/// What `SQLite` takes for its file. The file of the `unix` VFS follows it in
/// the same allocation, hence the alignment.
#[repr(C, align(8))]
struct FaultFile {
    base: sqlite3_file,
    context: *mut Context,
}

/// What an open file knows of itself.
struct Context {
    shared: &'static Shared,
    /// None for a temporary file, which no power cut can bring back.
    path: Option<PathBuf>,
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(x_close),
    xRead: Some(x_read),
    xWrite: Some(x_write),
    xTruncate: Some(x_truncate),
    xSync: Some(x_sync),
    xFileSize: Some(x_file_size),
    xLock: Some(x_lock),
    xUnlock: Some(x_unlock),
    xCheckReservedLock: Some(x_check_reserved_lock),
    xFileControl: Some(x_file_control),
    xSectorSize: Some(x_sector_size),
    xDeviceCharacteristics: Some(x_device_characteristics),
    xShmMap: Some(x_shm_map),
    xShmLock: Some(x_shm_lock),
    xShmBarrier: Some(x_shm_barrier),
    xShmUnmap: Some(x_shm_unmap),
    xFetch: Some(x_fetch),
    xUnfetch: Some(x_unfetch),
};

/// Calls a method of the real file behind `$file`. Only for use where `$file`
/// is an open file of this VFS and the arguments are those of its own call.
macro_rules! forward {
    ($file:expr, $method:ident($($arg:expr),*)) => {{
        let real = real_file($file);
        match (*real).pMethods.as_ref().and_then(|methods| methods.$method) {
            Some(method) => method(real, $($arg),*),
            None => SQLITE_IOERR,
        }
    }};
}

/// As [`forward`], but fails while the power is off.
macro_rules! forward_if_on {
    ($file:expr, $method:ident($($arg:expr),*)) => {
        if context($file).shared.is_off() {
            SQLITE_IOERR
        } else {
            forward!($file, $method($($arg),*))
        }
    };
}

/// As [`forward`], but for a method of the real VFS.
macro_rules! forward_to_vfs {
    ($host:expr, $method:ident($($arg:expr),*)) => {
        match (*$host.real).$method {
            Some(method) => method($host.real, $($arg),*),
            None => SQLITE_IOERR,
        }
    };
}

/// Registers a VFS with `SQLite` for the life of the process.
pub(super) fn register(name: &str, shared: &'static Shared) {
    let Ok(name) = CString::new(name) else {
        return;
    };
    // SAFETY: the name is a C string; SQLite starts itself up if need be.
    let real = unsafe { ffi::sqlite3_vfs_find(c"unix".as_ptr()) };
    let Ok(own_size) = c_int::try_from(size_of::<FaultFile>()) else {
        return;
    };
    if real.is_null() {
        return;
    }
    let host = Box::into_raw(Box::new(Host { shared, real }));
    // SAFETY: a registered VFS is never freed, and of its fields only `pNext`,
    // which is not read here, ever changes. The methods not replaced (time,
    // randomness, loading of extensions) ignore the VFS they are given, so
    // they can be taken over as they are.
    let vfs = unsafe {
        Box::new(sqlite3_vfs {
            szOsFile: own_size + (*real).szOsFile,
            pNext: ptr::null_mut(),
            zName: name.into_raw(),
            pAppData: host.cast(),
            xOpen: Some(x_open),
            xDelete: Some(x_delete),
            xAccess: Some(x_access),
            xFullPathname: Some(x_full_pathname),
            ..*real
        })
    };
    // SAFETY: the VFS, its name and its host are leaked, so they outlive every
    // use. A refusal shows when the name is used to open a database.
    unsafe { ffi::sqlite3_vfs_register(Box::into_raw(vfs), 0) };
}

/// # Safety
///
/// `vfs` must be one that [`register`] registered.
unsafe fn host<'a>(vfs: *mut sqlite3_vfs) -> &'a Host {
    // SAFETY: `register` made `pAppData` point to a leaked host.
    unsafe { &*(*vfs).pAppData.cast::<Host>() }
}

/// # Safety
///
/// `file` must be open and of this VFS, and stay so while the result is used.
unsafe fn context<'a>(file: *mut sqlite3_file) -> &'a Context {
    // SAFETY: `x_open` wrote a `FaultFile` there, and its context lives until
    // `x_close`.
    unsafe { &*(*file.cast::<FaultFile>()).context }
}

/// # Safety
///
/// `file` must point to memory of the size that [`register`] asks for.
unsafe fn real_file(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: that size has room for the real file after the `FaultFile`.
    unsafe { file.cast::<FaultFile>().add(1).cast() }
}

/// # Safety
///
/// `name` must be null or a C string that outlives the result.
unsafe fn path_of<'a>(name: *const c_char) -> Option<&'a Path> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller vouches for the string.
    let name = unsafe { CStr::from_ptr(name) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())))
}

/// Locks the state for a call that may be made to fail. It stays locked while
/// the call does its work, so that no power cut falls into the middle of it.
fn locked_if_on(shared: &Shared) -> Result<MutexGuard<'_, State>, c_int> {
    let state = shared.lock();
    if shared.is_off() {
        Err(SQLITE_IOERR)
    } else {
        Ok(state)
    }
}

unsafe extern "C" fn x_open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS, a name that is null or a C string, and
    // memory of the size asked for. With no methods set, it will not close a
    // file that failed to open.
    let (host, path, real) = unsafe {
        let real = real_file(file);
        (*file).pMethods = ptr::null();
        (*real).pMethods = ptr::null();
        (host(vfs), path_of(name), real)
    };
    let mut state = match locked_if_on(host.shared) {
        Ok(state) => state,
        Err(code) => return code,
    };
    if let Some(strike) = state.plan.strike(Call::Open) {
        return strike.code;
    }
    // SAFETY: the arguments are SQLite's own, with the real VFS and file.
    let code = unsafe { forward_to_vfs!(host, xOpen(name, real, flags, out_flags)) };
    // SAFETY: the real VFS either set the methods or left them null.
    if unsafe { (*real).pMethods.is_null() } {
        return code;
    }
    let path = path.filter(|_| flags & ffi::SQLITE_OPEN_DELETEONCLOSE == 0);
    if let Some(path) = path {
        state.disk.opened(path);
    }
    let context = Box::new(Context {
        shared: host.shared,
        path: path.map(Path::to_owned),
    });
    let opened = FaultFile {
        base: sqlite3_file {
            pMethods: &raw const METHODS,
        },
        context: Box::into_raw(context),
    };
    // SAFETY: the memory is SQLite's for this file, large enough and aligned.
    unsafe { file.cast::<FaultFile>().write(opened) };
    code
}

unsafe extern "C" fn x_delete(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    sync_dir: c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS and a C string.
    let (host, path) = unsafe { (host(vfs), path_of(name)) };
    let mut state = match locked_if_on(host.shared) {
        Ok(state) => state,
        Err(code) => return code,
    };
    if let Some(strike) = state.plan.strike(Call::Delete) {
        return strike.code;
    }
    // SAFETY: the arguments are SQLite's own, with the real VFS.
    let code = unsafe { forward_to_vfs!(host, xDelete(name, sync_dir)) };
    if let Some(path) = path.filter(|_| code == SQLITE_OK) {
        state.disk.deleted(path);
    }
    code
}

unsafe extern "C" fn x_access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS; the other arguments go on as they are.
    unsafe {
        let host = host(vfs);
        if host.shared.is_off() {
            return SQLITE_IOERR;
        }
        forward_to_vfs!(host, xAccess(name, flags, out))
    }
}

unsafe extern "C" fn x_full_pathname(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    len: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes this VFS; the other arguments go on as they are.
    unsafe {
        let host = host(vfs);
        forward_to_vfs!(host, xFullPathname(name, len, out))
    }
}

unsafe extern "C" fn x_close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file once and does not use it after, so
    // the context that `x_open` made can be freed. This works without power
    // too, or the process would run out of descriptors.
    unsafe {
        let code = forward!(file, xClose());
        drop(Box::from_raw((*file.cast::<FaultFile>()).context));
        code
    }
}

unsafe extern "C" fn x_read(
    file: *mut sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    at: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is.
    unsafe { forward_if_on!(file, xRead(buffer, amount, at)) }
}

unsafe extern "C" fn x_write(
    file: *mut sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    at: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes an open file.
    let context = unsafe { context(file) };
    let mut state = match locked_if_on(context.shared) {
        Ok(state) => state,
        Err(code) => return code,
    };
    let strike = state.plan.strike(Call::Write);
    let amount = match strike {
        None => amount,
        Some(strike) if strike.writes_half => amount / 2,
        Some(strike) => return strike.code,
    };
    // SAFETY: the file is open.
    if let Err(code) = unsafe { keep_content(file, context, &mut state) } {
        return code;
    }
    // SAFETY: the arguments are SQLite's own, but for an amount that may be
    // smaller.
    let code = unsafe { forward!(file, xWrite(buffer, amount, at)) };
    if code != SQLITE_OK {
        return code;
    }
    if let (Some(path), Ok(at), Ok(len)) =
        (&context.path, usize::try_from(at), usize::try_from(amount))
    {
        // SAFETY: SQLite's buffer holds at least the amount to write.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast(), len) };
        state.disk.wrote(path, at, bytes);
    }
    strike.map_or(SQLITE_OK, |strike| strike.code)
}

unsafe extern "C" fn x_truncate(file: *mut sqlite3_file, len: sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file.
    let context = unsafe { context(file) };
    let mut state = match locked_if_on(context.shared) {
        Ok(state) => state,
        Err(code) => return code,
    };
    if let Some(strike) = state.plan.strike(Call::Truncate) {
        return strike.code;
    }
    // SAFETY: the file is open.
    if let Err(code) = unsafe { keep_content(file, context, &mut state) } {
        return code;
    }
    // SAFETY: the arguments are SQLite's own.
    let code = unsafe { forward!(file, xTruncate(len)) };
    if let (SQLITE_OK, Some(path), Ok(len)) = (code, &context.path, usize::try_from(len)) {
        state.disk.truncated(path, len);
    }
    code
}

unsafe extern "C" fn x_sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    let context = unsafe { context(file) };
    let mut state = match locked_if_on(context.shared) {
        Ok(state) => state,
        Err(code) => return code,
    };
    if let Some(strike) = state.plan.strike(Call::Sync) {
        return strike.code;
    }
    // SAFETY: the arguments are SQLite's own.
    let code = unsafe { forward!(file, xSync(flags)) };
    if let (SQLITE_OK, Some(path)) = (code, &context.path) {
        state.disk.synced(path);
    }
    code
}

/// Hands the disk the content of a file that is about to change for the first
/// time since recording began.
///
/// It reads through `SQLite`'s own descriptor: closing another one would drop
/// the locks this process has on the file.
///
/// # Safety
///
/// `file` must be open and of this VFS.
unsafe fn keep_content(
    file: *mut sqlite3_file,
    context: &Context,
    state: &mut State,
) -> Result<(), c_int> {
    let Some(path) = context
        .path
        .as_ref()
        .filter(|p| state.disk.wants_content(p))
    else {
        return Ok(());
    };
    let mut size = 0;
    // SAFETY: the file is open, and `size` outlives the call.
    ok(unsafe { forward!(file, xFileSize(&raw mut size)) })?;
    let (Ok(len), Ok(amount)) = (usize::try_from(size), c_int::try_from(size)) else {
        return Err(SQLITE_IOERR);
    };
    let mut bytes = vec![0_u8; len];
    // SAFETY: the file is open, and the buffer has room for `amount` bytes.
    ok(unsafe { forward!(file, xRead(bytes.as_mut_ptr().cast(), amount, 0)) })?;
    state.disk.begin(path, bytes);
    Ok(())
}

fn ok(code: c_int) -> Result<(), c_int> {
    if code == SQLITE_OK { Ok(()) } else { Err(code) }
}

unsafe extern "C" fn x_file_size(file: *mut sqlite3_file, out: *mut sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is.
    unsafe { forward_if_on!(file, xFileSize(out)) }
}

unsafe extern "C" fn x_lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is.
    unsafe { forward_if_on!(file, xLock(level)) }
}

unsafe extern "C" fn x_unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is. Locks die
    // with the power, so giving one up always works.
    unsafe { forward!(file, xUnlock(level)) }
}

unsafe extern "C" fn x_check_reserved_lock(file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is.
    unsafe { forward_if_on!(file, xCheckReservedLock(out)) }
}

unsafe extern "C" fn x_file_control(file: *mut sqlite3_file, op: c_int, arg: *mut c_void) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is.
    unsafe { forward_if_on!(file, xFileControl(op, arg)) }
}

unsafe extern "C" fn x_sector_size(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file. The unix VFS has this method.
    unsafe { forward!(file, xSectorSize()) }
}

unsafe extern "C" fn x_device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file. The unix VFS has this method.
    unsafe { forward!(file, xDeviceCharacteristics()) }
}

unsafe extern "C" fn x_shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file.
    let context = unsafe { context(file) };
    let mut state = match locked_if_on(context.shared) {
        Ok(state) => state,
        Err(code) => return code,
    };
    let call = if extend == 0 {
        Call::ShmMap
    } else {
        Call::ShmGrow
    };
    if let Some(strike) = state.plan.strike(call) {
        return strike.code;
    }
    // SAFETY: the arguments are SQLite's own.
    unsafe { forward!(file, xShmMap(region, size, extend, out)) }
}

unsafe extern "C" fn x_shm_lock(
    file: *mut sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is. Giving a
    // lock up always works, as in `x_unlock`.
    unsafe {
        if flags & ffi::SQLITE_SHM_UNLOCK == 0 {
            forward_if_on!(file, xShmLock(offset, count, flags))
        } else {
            forward!(file, xShmLock(offset, count, flags))
        }
    }
}

unsafe extern "C" fn x_shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let real = real_file(file);
        if let Some(barrier) = (*real)
            .pMethods
            .as_ref()
            .and_then(|methods| methods.xShmBarrier)
        {
            barrier(real);
        }
    }
}

unsafe extern "C" fn x_shm_unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is. After a
    // power cut the `-shm` at this path belongs to somebody else.
    unsafe {
        let delete = if context(file).shared.is_off() {
            0
        } else {
            delete
        };
        forward!(file, xShmUnmap(delete))
    }
}

unsafe extern "C" fn x_fetch(
    file: *mut sqlite3_file,
    at: sqlite3_int64,
    amount: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is.
    unsafe { forward_if_on!(file, xFetch(at, amount, out)) }
}

unsafe extern "C" fn x_unfetch(
    file: *mut sqlite3_file,
    at: sqlite3_int64,
    page: *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file; the rest goes on as it is.
    unsafe { forward!(file, xUnfetch(at, page)) }
}
