//! What the server counts, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use comity_kernel::hook::standing::HooksStand;

/// Upper bounds of the latency buckets, in microseconds.
const BUCKETS_US: [u64; 10] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000, 10_000_000,
];

/// The counters.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    latency: Mutex<BTreeMap<&'static str, Latency>>,
    connections: Arc<AtomicU64>,
    turned_away: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct Latency {
    buckets: [u64; BUCKETS_US.len()],
    sum_us: u64,
    count: u64,
}

/// A connection that counts as open until this is dropped.
pub(crate) struct Open(Arc<AtomicU64>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is read when somebody looks.
pub(crate) struct Gauges {
    pub(crate) head: i64,
    pub(crate) waiting_writes: usize,
    pub(crate) waiting_reads: usize,
    pub(crate) streams: usize,
    pub(crate) descriptors: Option<u64>,
    pub(crate) resident_bytes: Option<u64>,
    /// How many events are not archived, and the last that is; nothing where there is no archive.
    pub(crate) archive: Option<(i64, i64)>,
    /// How the hooks stand.
    pub(crate) hooks: Option<HooksStand>,
}

impl Metrics {
    pub(crate) fn connection_opened(&self) -> Open {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(&self.connections))
    }

    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that an operation was answered.
    pub(crate) fn answered(&self, operation: &'static str, status: u16, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        *lock(&self.requests).entry((operation, status)).or_default() += 1;
        let mut latencies = lock(&self.latency);
        let latency = latencies.entry(operation).or_default();
        for (bucket, bound) in latency.buckets.iter_mut().zip(BUCKETS_US) {
            *bucket += u64::from(took_us <= bound);
        }
        latency.sum_us = latency.sum_us.saturating_add(took_us);
        latency.count += 1;
    }

    /// Writes everything down.
    pub(crate) fn render(&self, gauges: &Gauges) -> String {
        let mut text = String::new();
        let connections = self.connections.load(Ordering::Relaxed);
        let turned_away = self.turned_away.load(Ordering::Relaxed);
        single(&mut text, "comity_up", "gauge", 1);
        single(&mut text, "comity_log_head_seq", "gauge", gauges.head);
        single(
            &mut text,
            "comity_writer_waiting",
            "gauge",
            gauges.waiting_writes,
        );
        single(
            &mut text,
            "comity_readers_waiting",
            "gauge",
            gauges.waiting_reads,
        );
        single(&mut text, "comity_connections", "gauge", connections);
        single(&mut text, "comity_streams", "gauge", gauges.streams);
        single(
            &mut text,
            "comity_connections_refused_total",
            "counter",
            turned_away,
        );
        if let Some(open) = gauges.descriptors {
            single(&mut text, "process_open_fds", "gauge", open);
        }
        if let Some(bytes) = gauges.resident_bytes {
            single(&mut text, "process_resident_memory_bytes", "gauge", bytes);
        }
        if let Some((lag, through)) = gauges.archive {
            single(&mut text, "comity_archive_lag_events", "gauge", lag);
            single(&mut text, "comity_archive_through_seq", "gauge", through);
        }
        if let Some(stand) = gauges.hooks {
            single(&mut text, "comity_hooks", "gauge", stand.hooks);
            single(&mut text, "comity_hooks_lag_events", "gauge", stand.lag);
            single(&mut text, "comity_hooks_waiting", "gauge", stand.waiting);
            single(&mut text, "comity_hooks_dead_letters", "gauge", stand.dead);
        }
        self.render_requests(&mut text);
        self.render_latency(&mut text);
        text
    }

    fn render_requests(&self, text: &mut String) {
        text.push_str("# TYPE comity_requests_total counter\n");
        for ((operation, status), count) in &*lock(&self.requests) {
            let _ = writeln!(
                text,
                "comity_requests_total{{operation=\"{operation}\",status=\"{status}\"}} {count}"
            );
        }
    }

    fn render_latency(&self, text: &mut String) {
        text.push_str("# TYPE comity_request_seconds histogram\n");
        for (operation, latency) in &*lock(&self.latency) {
            let name = "comity_request_seconds";
            for (count, bound) in latency.buckets.iter().zip(BUCKETS_US) {
                let le = seconds(bound);
                let _ = writeln!(
                    text,
                    "{name}_bucket{{operation=\"{operation}\",le=\"{le}\"}} {count}"
                );
            }
            let (count, sum) = (latency.count, seconds(latency.sum_us));
            let _ = writeln!(
                text,
                "{name}_bucket{{operation=\"{operation}\",le=\"+Inf\"}} {count}\n\
                 {name}_sum{{operation=\"{operation}\"}} {sum}\n\
                 {name}_count{{operation=\"{operation}\"}} {count}"
            );
        }
    }
}

fn single(text: &mut String, name: &str, kind: &str, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# TYPE {name} {kind}\n{name} {value}");
}

fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_once_and_falls_into_every_bucket_above_it() {
        let metrics = Metrics::default();
        metrics.answered("orient", 200, Duration::from_micros(900));
        metrics.answered("orient", 429, Duration::from_secs(61));
        let open = metrics.connection_opened();
        let text = metrics.render(&Gauges {
            head: 7,
            waiting_writes: 1,
            waiting_reads: 2,
            streams: 3,
            descriptors: Some(9),
            resident_bytes: None,
            archive: Some((4, 3)),
            hooks: Some(HooksStand {
                lag: 5,
                dead: 6,
                ..HooksStand::default()
            }),
        });
        drop(open);
        for line in [
            "comity_log_head_seq 7",
            "comity_archive_lag_events 4",
            "comity_archive_through_seq 3",
            "comity_hooks_lag_events 5",
            "comity_hooks_dead_letters 6",
            "comity_connections 1",
            "comity_streams 3",
            "comity_requests_total{operation=\"orient\",status=\"200\"} 1",
            "comity_request_seconds_bucket{operation=\"orient\",le=\"0.0005\"} 0",
            "comity_request_seconds_bucket{operation=\"orient\",le=\"0.001\"} 1",
            "comity_request_seconds_bucket{operation=\"orient\",le=\"10\"} 1",
            "comity_request_seconds_bucket{operation=\"orient\",le=\"+Inf\"} 2",
            "comity_request_seconds_sum{operation=\"orient\"} 61.0009",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(metrics.connections.load(Ordering::Relaxed), 0);
    }
}
