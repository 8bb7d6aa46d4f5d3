package compact

// prepText is the message before a compaction. It is one line: a terminal's
// input box then shows it as it is.
const prepText = "This session's context is about to be compacted. Before that, please write down for whoever goes on here " +
	"what is being done and why, what is decided, what is open, and the next step: put it as Markdown into `reseat recap write` " +
	"(it reads stdin). Start nothing new; say briefly when it is written."

// restoreText is the message after a compaction. The directive comes in with it
// as context; it isn't repeated here.
const restoreText = "The context was compacted. Please say in a few sentences where the work stands and what the next step is, " +
	"checking what the restored context says to check, and then wait."
