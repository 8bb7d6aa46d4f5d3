// Package openai is a stub of OpenAI's Responses API, as far as Codex uses it:
// streamed and whole responses, the model list, the refusal of a WebSocket,
// and all three ways in which Codex asks for a compaction.
//
// What it answers is a script's choice; what a request is for, and how an
// answer looks on the wire for the tools that this request offers, is decided
// here. It keeps every request for assertions and imports no testing: `reseat
// doctor --live` runs it too. What it knows about the client was seen on Codex
// 0.133.0, 0.139.0 and 0.171.0 with a provider of its own and an API key;
// request bodies came uncompressed there, although the client's
// enable_request_compression is on.
package openai
