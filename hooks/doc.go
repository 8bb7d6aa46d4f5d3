// Package hooks is what the clients say to a hook and what they accept from it:
// payloads in, replies out, and one table of what each client version fires and
// proves.
//
// It decides nothing and touches no file. It keeps promise 3 of the design: a
// payload of any shape becomes an Event or an error, and a reply that a client
// would reject for its event can't be made.
package hooks
