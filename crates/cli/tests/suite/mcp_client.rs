//! A client program that speaks MCP with the real binary, line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::place::Place;

/// Which of the protocol's eras a client is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Era {
    /// 2025-11-25: `initialize` comes first.
    Handshake,
    /// 2026-07-28: every request says what it needs.
    Stateless,
}

/// A client and the process it started.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    era: Era,
    requests: u64,
    /// Everything the process wrote.
    heard: String,
}

impl Client {
    pub(crate) fn start(place: &Place, arguments: &[&str], era: Era) -> Self {
        let mut client = Self::spawn(&mut place.command(&[arguments, &["mcp"]].concat()), era);
        if era == Era::Handshake {
            client.greet();
        }
        client
    }

    pub(crate) fn spawn(command: &mut Command, era: Era) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            era,
            requests: 0,
            heard: String::new(),
        }
    }

    pub(crate) fn greet(&mut self) {
        let client = json!({ "name": "tester", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let said = self.request("initialize", params);
        assert_eq!(said["result"]["serverInfo"]["name"], "comity", "{said}");
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Sends a line as it is.
    pub(crate) fn send(&mut self, line: &[u8]) {
        self.input.write_all(line).unwrap();
        self.input.write_all(b"\n").unwrap();
        self.input.flush().unwrap();
    }

    /// Sends a request and returns the response to it; what answers nothing is passed over.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        if self.era == Era::Stateless {
            let meta = &mut params["_meta"];
            let named = "io.modelcontextprotocol";
            meta[format!("{named}/protocolVersion")] = json!("2026-07-28");
            meta[format!("{named}/clientInfo")] = json!({ "name": "tester", "version": "1" });
            meta[format!("{named}/clientCapabilities")] = json!({});
        }
        self.requests += 1;
        let id = self.requests;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(request.to_string().as_bytes());
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            self.heard.push_str(&line);
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool: its answer, or the error object.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Value> {
        self.call_with(tool, arguments, &json!({}))
    }

    /// Calls a tool with something in `_meta`.
    pub(crate) fn call_with(
        &mut self,
        tool: &str,
        arguments: &Value,
        meta: &Value,
    ) -> Result<Value, Value> {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let said = self.request("tools/call", params);
        let result = &said["result"];
        let text = result["content"][0]["text"].as_str();
        assert!(text.is_some(), "{said}");
        let answer = serde_json::from_str(text.unwrap_or_default()).unwrap();
        match result["isError"] {
            Value::Bool(true) => Err(answer),
            _ => Ok(answer),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Closes its side; returns the exit code, and everything that came out.
    pub(crate) fn end(self) -> (Option<i32>, String) {
        let Self {
            mut child,
            input,
            mut output,
            mut heard,
            ..
        } = self;
        drop(input);
        output.read_to_string(&mut heard).unwrap();
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_to_string(&mut heard).unwrap();
        (child.wait().unwrap().code(), heard)
    }
}
