//! One hash over everything the log projects, equal on both engines.

use comity_domain::token::to_hex;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::store::{StoreError, Value};
use crate::tx::Read;

/// Tables that `apply` writes, in name order, each with its columns in a fixed order.
pub const PROJECTED: [(&str, &str); 36] = [
    (
        "agent",
        "select id, project_id, name, name_folded, program, model, task, metadata, orchestrate,
            contact_policy, created_at, retired_at, revision
         from agent order by id",
    ),
    (
        "agent_capability",
        "select agent_id, capability from agent_capability order by agent_id, capability",
    ),
    (
        "approval",
        "select id, run_id, phase, role, note, agent_id, created_at, withdrawn_at
         from approval order by id",
    ),
    (
        "artifact",
        "select id, run_id, phase, kind, path, url, sha256, agent_id, created_at, withdrawn_at
         from artifact order by id",
    ),
    (
        "checkpoint",
        "select id, hash, state_hash, schema, pruned_seq, pruned_at, revision
         from checkpoint order by id",
    ),
    (
        "consumer",
        "select id, project_id, name, filter, ttl_us, generation, agent_id, since, placed_seq,
            registered_at, registered_lease_us, ended_at, revision
         from consumer order by id",
    ),
    (
        "contact",
        "select id, agent_id, sender_id, state, reason, created_at, until_at, until_lease_us,
            revision
         from contact order by id",
    ),
    (
        "discovery",
        "select id, project_id, source, source_id, title, summary, url, score, tier, state, ref,
            reason, agent_id, discovered_at, discovered_lease_us, decayed_lease_us, settled_at,
            revision
         from discovery order by id",
    ),
    (
        "discovery_feedback",
        "select discovery_id, seq, signal, note, agent_id, created_at
         from discovery_feedback order by discovery_id, seq",
    ),
    (
        "discovery_vector",
        "select discovery_id, project_id, model, dimension, vector, seq
         from discovery_vector order by discovery_id, model",
    ),
    (
        "dispatch",
        "select id, project_id, run_id, phase, agent_kind, prompt, priority, group_name, state,
            origin_id, retry_of, attempt, not_before_lease_us, deadline_lease_us, claimant_id,
            fence, claim_lease_us, claims, tokens, progress, verdict, summary, result,
            result_sha256, reason, agent_id, created_at, started_at, settled_at, revision
         from dispatch order by id",
    ),
    (
        "dispatch_dependency",
        "select dispatch_id, origin_id
         from dispatch_dependency order by dispatch_id, origin_id",
    ),
    (
        "dispatch_queue",
        "select dispatch_id, project_id, agent_kind, run_id, priority, not_before_lease_us
         from dispatch_queue order by dispatch_id",
    ),
    (
        "epoch",
        "select id, name, name_before, after_seq, lost_name, lost_seq, began_at, revision
         from epoch order by id",
    ),
    (
        "hook",
        "select id, filter, url, command, since_seq, created_at, removed_at, revision
         from hook order by id",
    ),
    (
        "interest_profile",
        "select id, keyword_weights, source_weights, topic_model, topic_dimension, topic_vector,
            updated_at, revision
         from interest_profile order by id",
    ),
    (
        "message",
        "select id, project_id, thread_id, reply_to, sender_id, subject, body, importance,
            ack_required, topic, created_at, revision
         from message order by id",
    ),
    (
        "message_attachment",
        "select message_id, position, sha256, name, bytes
         from message_attachment order by message_id, position",
    ),
    (
        "project",
        "select id, key, slug, name, case_insensitive, guard_mode, guard_away, grace_us,
            leases_per_agent, created_at, revision
         from project order by id",
    ),
    (
        "recipient",
        "select message_id, agent_id, delivery, ack_required, read_at, acked_at, note
         from recipient order by message_id, agent_id",
    ),
    (
        "redaction",
        "select id, kind, subject_type, subject_id, reason, remnant, redacted_seq, redacted_at,
            revision
         from redaction order by id",
    ),
    (
        "release_request",
        "select id, project_id, reservation_id, requester_id, thread_id, reason, answer, eta_ms,
            created_at, answered_at, revision
         from release_request order by id",
    ),
    (
        "reservation",
        "select id, kind, project_id, agent_id, pattern, pattern_key, key_hash, exclusive, reason,
            fence, created_at, created_lease_us, expires_lease_us, ended_at, ended_seq, ended,
            run_id
         from reservation order by id",
    ),
    (
        "run",
        "select id, project_id, parent_id, goal, phases, gates, phase, position, last_position, state,
            token_budget, budget_enforced, max_dispatches, max_per_kind, metadata, tokens, agent_id,
            created_at, ended_at, revision
         from run order by id",
    ),
    (
        "run_agent",
        "select run_id, agent_id, role, outcome, started_at, finished_at
         from run_agent order by run_id, agent_id",
    ),
    (
        "run_link",
        "select upstream_id, downstream_id, created_at
         from run_link order by downstream_id, upstream_id",
    ),
    (
        "run_skip",
        "select run_id, phase, reason, created_at from run_skip order by run_id, phase",
    ),
    (
        "sentinel",
        "select id, project_id, name, scope, agent_id, claimed_at, claimed_lease_us, revision
         from sentinel order by id",
    ),
    (
        "state_blob",
        "select seq, sha256 from state_blob order by seq",
    ),
    (
        "state_entry",
        "select id, scope_id, key, version, value, sha256, bytes, agent_id, created_at, saved_at,
            saved_lease_us, expires_lease_us, ended
         from state_entry order by id",
    ),
    (
        "state_scope",
        "select id, project_id, name, agent_id, keys, bytes, created_at, revision
         from state_scope order by id",
    ),
    (
        "stream",
        "select id, project_id, name, version, created_at, revision from stream order by id",
    ),
    (
        "stream_event",
        "select stream_id, version, seq from stream_event order by stream_id, version",
    ),
    (
        "thread_member",
        "select agent_id, thread_id, last_message_id
         from thread_member order by agent_id, thread_id",
    ),
    (
        "token",
        "select id, role, project_id, agent_id, name, sha256, created_at, revoked_at, revision
         from token order by id",
    ),
    (
        "verdict",
        "select id, run_id, phase, verdict, summary, agent_id, dispatch_id, created_at, withdrawn_at
         from verdict order by id",
    ),
];

/// Tables that are not projections: the log itself, the index of words, the steps
/// that dispatches and discoveries may take, and what upkeep writes.
pub const OFF_LOG: [&str; 20] = [
    "answer_word",
    "archive",
    "archive_commit",
    "blob",
    "blob_owner",
    "consumer_cursor",
    "discovery_edge",
    "discovery_text",
    "dispatch_edge",
    "event",
    "hook_cursor",
    "hook_deliverer",
    "hook_delivery",
    "idempotency",
    "log_head",
    "message_text",
    "presence",
    "pruned_event",
    "pruned_run",
    "quarantine",
];

/// Tables that SQLite's full-text search adds for itself, and the one that shows its words.
pub const OFF_LOG_SQLITE: [&str; 10] = [
    "discovery_text_config",
    "discovery_text_data",
    "discovery_text_docsize",
    "discovery_text_idx",
    "discovery_word",
    "message_text_config",
    "message_text_data",
    "message_text_docsize",
    "message_text_idx",
    "message_word",
];

/// Hashes the projected tables: their names, and their rows as JSON arrays, one a line.
pub fn state_hash(read: &mut impl Read) -> Result<String, StoreError> {
    let mut hash = Sha256::new();
    for (table, sql) in PROJECTED {
        hash.update(table);
        hash.update("\n");
        read.each(sql, &[], &mut |row| {
            let values: Vec<_> = row.rest().iter().map(to_json).collect();
            hash.update(serde_json::Value::from(values).to_string());
            hash.update("\n");
            Ok(())
        })?;
    }
    Ok(to_hex(&hash.finalize()))
}

fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Int(number) => json!(number),
        Value::Real(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Blob(bytes) => json!(to_hex(bytes)),
    }
}
