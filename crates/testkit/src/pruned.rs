//! A log whose beginning is gone, for tests that need no archive.

use comity_domain::Seq;
use comity_kernel::archive::ArchiveId;
use comity_kernel::checkpoint::PruneLog;
use comity_kernel::epoch::LinkAt;
use comity_kernel::{Actor, Kernel};

use crate::Kit;

/// Prunes the log up to an event, as if an archive had it; who is not durable is passed.
///
/// No archive has it, so the kit must expect damage.
pub fn prune(kit: &Kit, to: i64) {
    prune_by(kit.kernel(), to);
}

/// The same by any kernel, such as that of another server.
pub fn prune_by(kernel: &Kernel, to: i64) {
    let archive = ArchiveId::parse("none").expect("a name");
    let through = Seq::new(to);
    let noted = kernel.archive_moved(archive, (Seq::new(1), through), through, Vec::new());
    noted.wait().expect("upkeep");
    let link = kernel.query(Actor::System, LinkAt { seq: through });
    let hash = link.wait().expect("the log").answer.expect("an event");
    let pruned = PruneLog {
        archive: "none".to_owned(),
        through,
        hash,
        state_hash: String::new(),
        schema: 0,
    };
    let done = kernel.execute(Actor::OPERATOR.into(), pruned);
    done.wait().expect("nobody is in the way");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(kernel.sweep()).expect("a sweep");
}
