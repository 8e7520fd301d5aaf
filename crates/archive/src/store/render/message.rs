//! A message's file, and those of what it carries.

use comity_domain::Delivery;
use comity_domain::token::to_hex;
use comity_kernel::archive::Batch;
use comity_kernel::log::Recorded;
use comity_kernel::mail::event::{Attached, MessageSent};
use sha2::{Digest as _, Sha256};

use super::{Content, name, slug, text};
use crate::store::letter::{Carried, Letter};
use crate::store::place;

/// Renders a message and what it carries.
pub(super) fn files(
    batch: &Batch,
    recorded: &Recorded,
    sent: &MessageSent,
) -> Vec<(String, Content)> {
    let named = |delivery: Delivery| {
        let those = sent
            .recipients
            .iter()
            .filter(|one| one.delivery == delivery);
        those
            .map(|one| name(batch, sent.project, one.agent))
            .collect()
    };
    let carried = |one: &Attached| Carried {
        path: place::attachment(&one.sha256),
        name: one.name.clone(),
        bytes: one.bytes,
    };
    let project = slug(batch, sent.project);
    let letter = Letter {
        id: sent.id,
        seq: recorded.seq,
        at: recorded.at,
        project: project.to_owned(),
        thread: sent.thread,
        reply_to: sent.reply_to,
        from: name(batch, sent.project, sent.from),
        to: named(Delivery::To),
        cc: named(Delivery::Cc),
        bcc: named(Delivery::Bcc),
        subject: sent.subject.clone(),
        importance: sent.importance,
        ack_required: sent.ack_required,
        topic: sent.topic.clone(),
        attachments: sent.attachments.iter().map(carried).collect(),
        body_sha256: to_hex(&Sha256::digest(&sent.body)),
        body_bytes: sent.body.len(),
        body: sent.body.clone(),
    };
    let path = place::message(project, sent.id, recorded.at, &sent.subject);
    let content = text(letter.render());
    // What a redacted message carried is gone with its words.
    let has_files = !recorded.is_redacted();
    let blobs = sent.attachments.iter().filter(|_| has_files);
    let blobs = blobs.map(|one| (place::attachment(&one.sha256), Content::Blob(one.sha256)));
    [(path, content)].into_iter().chain(blobs).collect()
}
