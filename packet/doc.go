// Package packet makes, writes, reads and checks restore packets: what a
// successor needs of a session that was compacted.
//
// It owns contract v0 and what reseat adds to it. It reads no transcript (that
// is packet/transcript), knows no hooks and delivers nothing; what it is told is
// in Input, and what isn't told is written down as unknown (promise 5). A packet
// is there whole or not at all (promise 4), private and redacted (promise 7).
//
// # Format
//
// A packet is a folder, mode 0700, with these files, mode 0600:
//
//	restore-instructions.md   what must be read, at most 16,000 bytes
//	transcript-latest.md      the latest messages, at most 120
//	touched-files.md          the paths touched, at most 200, as "path (count)"
//	restore-summary.json      the v0 contract, key for key
//	transcript.md             all messages; only where it was asked for, and then
//	                          restore-summary.json has the key full_transcript
//	continuity.json           ours: every item with its place in the transcript
//
// restore-summary.json is described by restore-summary.schema.json and the type
// Summary: 21 required keys, one optional, no other. In nested objects unknown
// keys are allowed, as the contract has it. continuity.json is described by
// continuity.schema.json and the type Continuity: its first key is the version
// line Format, and a reader of that version knows every key and refuses others.
//
// In the two transcript files a message is headed "## <n>. <role> <timestamp>",
// counted from 1, and a compaction between two messages leaves a line that
// begins "### Compaction boundary". A line of a message that would read as one
// of these has a backslash before it.
//
// A packet without continuity.json comes from another generator and is valid as
// what it is. A generator_version that begins "reseat@" needs it.
//
// # The groups of contract v0
//
//	v0 group                                  our field
//	 1 source identity                        source_session_id
//	 2 source rig                             source_rig
//	 3 source runtime                         source_runtime
//	 4 source working directory               source_cwd
//	 5 target identity                        target_rig
//	 6 target runtime                         target_runtime
//	 7 workspace root                         target_workspace_root
//	 8 default repo                           default_target_repo
//	 9 role pointer                           role_pointer
//	10 bounded latest transcript              bounded_latest_transcript
//	11 full transcript (optional)             full_transcript
//	12 touched paths                          touched_files
//	13 durable pointers                       durable_pointers
//	14 current work and next owner            current_work_summary, next_owner
//	15 caveats and authority boundaries       caveats, authority_boundaries
//	16 omitted classes and redaction policy   omitted_classes, redaction_policy_id
//	   trust ranking                          source_trust_ranking
//	   generator                              generated_at, generator_version
//
// Sources are trusted in this order: the live identity (rig_whoami) over the
// target rig's spec, the bounded transcript, the full transcript, the touched
// files and restore-summary.json.
//
// # Not declared
//
// A hook can't ask. Where nothing was declared, source_rig and target_rig are
// "unassigned", role_pointer is "none-declared", authority_boundaries is "none
// declared", next_owner is "self", each with a caveat that says so, and
// current_work_summary is the plan's open item, else the latest request, both
// quoted, else "unknown".
package packet
