// Package e2e proves the promises on the real clients: pinned versions of
// Claude Code and Codex, in throw-away homes, with our hooks installed by our
// installer, against the stub models, judged by what reached the model.
//
// The tests are behind the build tag e2e (`make e2e`). They install the clients
// from npm into .cache/clients at the root of the repository, or into
// $RESEAT_CLIENT_CACHE, once; where npm can't be reached they fail and say so.
// RESEAT_E2E_KEEP=1 keeps the homes of failed tests, to be looked at.
package e2e
