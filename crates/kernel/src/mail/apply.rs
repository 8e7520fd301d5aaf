//! Mail: from event to rows.

use comity_domain::{AgentId, MessageId, ProjectId};

use super::event::{Attached, MessageAcknowledged, MessageRead, MessageSent, Recipient};
use super::table::box_of;
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::{Key, Redacted, Spot, blank, blank_option};
use crate::store::{Rows, StoreError};

const fn subject(id: MessageId) -> Subject {
    Subject {
        kind: SubjectKind::Message,
        id: id.get(),
    }
}

impl Apply for MessageSent {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into message (id, project_id, thread_id, reply_to, sender_id, subject, body,
                importance, ack_required, topic, created_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 1)",
            params![
                self.id,
                self.project,
                self.thread,
                self.reply_to,
                self.from,
                &self.subject,
                &self.body,
                self.importance.as_str(),
                self.ack_required,
                self.topic.as_deref(),
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        for recipient in &self.recipients {
            self.deliver(*recipient, tables)?;
        }
        self.remember_thread(tables)?;
        for (position, attached) in (0_i64..).zip(&self.attachments) {
            tables.write(
                "insert into message_attachment (message_id, position, sha256, name, bytes)
                 values (?1, ?2, ?3, ?4, ?5)",
                params![
                    self.id,
                    position,
                    attached.sha256.bytes(),
                    &attached.name,
                    attached.bytes,
                ],
                Rows::Exactly(1),
            )?;
        }
        Ok(())
    }

    fn redacted(&self) -> Option<Redacted> {
        let attached = |one: &Attached| Attached {
            name: blank(&one.name),
            ..one.clone()
        };
        let remnant = Self {
            subject: blank(&self.subject),
            body: blank(&self.body),
            topic: blank_option(self.topic.as_ref()),
            attachments: self.attachments.iter().map(attached).collect(),
            ..self.clone()
        };
        let topic = self.topic.as_deref().unwrap_or_default();
        let redacted = Redacted::to(remnant)
            .from(Spot::MessageSubject, self.id, &self.subject)
            .from(Spot::MessageBody, self.id, &self.body)
            .from(Spot::MessageTopic, self.id, topic);
        let names = (0_i64..).zip(&self.attachments);
        Some(names.fold(redacted, |redacted, (position, attached)| {
            let key = Key::Numbers(self.id.get(), position);
            redacted.from(Spot::AttachmentName, key, &attached.name)
        }))
    }
}

impl MessageSent {
    fn deliver(&self, recipient: Recipient, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into recipient (message_id, agent_id, delivery, ack_required)
             values (?1, ?2, ?3, ?4)",
            params![
                self.id,
                box_of(recipient.agent),
                recipient.delivery.as_str(),
                self.ack_required,
            ],
            Rows::Exactly(1),
        )
    }

    /// Notes the newest of the thread for everybody who has a part in it, the operator always.
    fn remember_thread(&self, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let recipients = self.recipients.iter().map(|recipient| recipient.agent);
        let mut members: Vec<Option<AgentId>> = recipients.chain([self.from, None]).collect();
        members.sort_unstable();
        members.dedup();
        for member in members {
            tables.write(
                "insert into thread_member (agent_id, thread_id, last_message_id)
                 values (?1, ?2, ?3)
                 on conflict (agent_id, thread_id) do update
                 set last_message_id = excluded.last_message_id",
                params![box_of(member), self.thread, self.id],
                Rows::Exactly(1),
            )?;
        }
        Ok(())
    }
}

impl Apply for MessageRead {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update recipient set read_at = ?3
             where message_id = ?1 and agent_id = ?2 and read_at is null",
            params![self.id, box_of(self.by), place.at],
            Rows::Exactly(1),
        )?;
        count_event(self.id, tables)
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for MessageAcknowledged {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update recipient set acked_at = ?3, note = ?4, read_at = coalesce(read_at, ?3)
             where message_id = ?1 and agent_id = ?2 and acked_at is null",
            params![self.id, box_of(self.by), place.at, self.note.as_deref()],
            Rows::Exactly(1),
        )?;
        count_event(self.id, tables)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            note: blank_option(self.note.as_ref()),
            ..self.clone()
        };
        let key = Key::Numbers(self.id.get(), box_of(self.by));
        let note = self.note.as_deref().unwrap_or_default();
        Some(Redacted::to(remnant).from(Spot::RecipientNote, key, note))
    }
}

fn count_event(id: MessageId, tables: &mut Tables<'_>) -> Result<(), StoreError> {
    tables.write(
        "update message set revision = revision + 1 where id = ?1",
        params![id],
        Rows::Exactly(1),
    )
}
