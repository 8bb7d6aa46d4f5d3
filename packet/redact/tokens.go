package redact

import (
	"strings"
	"sync"
)

// token is a credential that is known by how it begins.
type token struct {
	class  string
	prefix string // ends in one of the anchor bytes _ - .
	body   uint16 // alphabet of what follows
	min    int    // bytes of it, at least
	how    uint8
}

// How a token is told from other text.
const (
	glued  = 1 << iota // known by the prefix alone, whatever stands before it
	random             // the prefix is also the beginning of names: the body must not read like words
	hexed              // the body is hexadecimal; one with dashes has at least eight digits before the first
	exact              // the body has min bytes and no more
	led                // the letters and digits before the prefix belong to it
)

// tokens are the published shapes of credentials. The lengths are lower than
// the real ones, so that a token that something cut short goes too.
var tokens = [...]token{
	{"openai-key", "sess-", alnum, 32, random},
	{"cerebras-key", "csk-", run, 24, random},
	{"groq-key", "gsk_", alnum, 20, glued},
	{"xai-key", "xai-", run, 24, random},
	{"perplexity-key", "pplx-", alnum, 20, glued},
	{"huggingface-token", "hf_", alnum, 16, random},
	{"huggingface-token", "api_org_", alnum, 16, random},
	{"replicate-token", "r8_", alnum, 20, random},
	{"nvidia-key", "nvapi-", run, 20, glued},
	{"tavily-key", "tvly-", run, 16, random},
	{"firecrawl-key", "fc-", alnum, 32, hexed},
	{"e2b-key", "e2b_", alnum, 32, hexed},
	{"langsmith-key", "lsv2_pt_", word, 20, glued},
	{"langsmith-key", "lsv2_sk_", word, 20, glued},
	{"langsmith-key", "ls__", alnum, 24, random},
	{"pinecone-key", "pcsk_", word, 20, random},
	{"fireworks-key", "fw_", alnum, 20, random},
	{"together-key", "tgp_v1_", run, 20, glued},
	{"elevenlabs-key", "sk_", alnum, 40, hexed},
	{"wandb-key", "wandb_v1_", word, 20, glued},
	{"voyage-key", "pa-", run, 32, random},
	{"jina-key", "jina_", run, 32, random},

	{"github-token", "ghp_", word, 16, glued},
	{"github-token", "gho_", word, 16, glued},
	{"github-token", "ghu_", word, 16, glued},
	{"github-token", "ghs_", word, 16, glued},
	{"github-token", "ghr_", word, 16, glued},
	{"github-token", "github_pat_", word, 16, glued},
	{"gitlab-token", "glpat-", dotted, 12, glued},
	{"gitlab-token", "gldt-", run, 16, random},
	{"gitlab-token", "glrt-", dotted, 16, random},
	{"gitlab-token", "glrtr-", run, 16, random},
	{"gitlab-token", "glcbt-", run, 16, random},
	{"gitlab-token", "glptt-", run, 16, random},
	{"gitlab-token", "glft-", run, 16, random},
	{"gitlab-token", "glimt-", run, 16, random},
	{"gitlab-token", "glagent-", run, 20, random},
	{"gitlab-token", "gloas-", run, 20, random},
	{"gitlab-token", "glsoat-", run, 16, random},
	{"gitlab-token", "glffct-", run, 16, random},
	{"gitlab-token", "glwt-", run, 16, random},
	{"circleci-token", "CCIPAT_", word, 20, glued},
	{"buildkite-token", "bkua_", alnum, 20, glued},
	{"codecov-token", "cctk_", word, 20, random},
	{"sonar-token", "sqp_", alnum, 32, hexed},
	{"sonar-token", "squ_", alnum, 32, hexed},
	{"sonar-token", "sqa_", alnum, 32, hexed},
	{"sourcegraph-token", "sgp_", word, 32, random},
	{"npm-token", "npm_", alnum, 20, random},
	{"pypi-token", "pypi-", run, 16, random},
	{"rubygems-key", "rubygems_", alnum, 32, hexed},
	{"clojars-token", "CLOJARS_", alnum, 40, hexed},
	{"docker-token", "dckr_pat_", run, 16, glued},
	{"docker-token", "dckr_oat_", run, 16, glued},
	{"prefect-key", "pnu_", alnum, 30, random},
	{"prefect-key", "pnb_", alnum, 30, random},

	{"slack-token", "xoxb-", run, 8, glued},
	{"slack-token", "xoxp-", run, 8, glued},
	{"slack-token", "xoxa-", run, 8, glued},
	{"slack-token", "xoxr-", run, 8, glued},
	{"slack-token", "xoxs-", run, 8, glued},
	{"slack-token", "xoxo-", run, 8, glued},
	{"slack-token", "xoxc-", run, 8, glued},
	{"slack-token", "xoxd-", any64, 8, glued},
	{"slack-token", "xoxe-", run, 8, glued},
	{"slack-token", "xoxe.xoxp-", run, 8, glued},
	{"slack-token", "xoxe.xoxb-", run, 8, glued},
	{"slack-app-token", "xapp-", run, 8, glued},
	{"slack-token", "xwfp-", run, 8, glued},

	{"stripe-key", "sk_live_", alnum, 8, glued},
	{"stripe-key", "sk_test_", alnum, 8, random | glued},
	{"stripe-key", "rk_live_", alnum, 8, glued},
	{"stripe-key", "rk_test_", alnum, 8, random | glued},
	{"stripe-webhook-secret", "whsec_", any64, 8, glued},
	{"square-token", "sq0atp-", run, 16, glued},
	{"square-secret", "sq0csp-", run, 16, glued},
	{"shopify-token", "shpat_", alnum, 16, glued},
	{"shopify-token", "shpca_", alnum, 16, glued},
	{"shopify-token", "shppa_", alnum, 16, glued},
	{"shopify-secret", "shpss_", alnum, 16, glued},
	{"shopify-token", "shptka_", alnum, 16, glued},
	{"flutterwave-key", "FLWSECK_TEST-", alnum, 8, glued},
	{"flutterwave-key", "FLWSECK-", run, 8, glued},
	{"razorpay-key", "rzp_live_", alnum, 12, glued},
	{"shippo-token", "shippo_live_", alnum, 20, glued},
	{"shippo-token", "shippo_test_", alnum, 20, glued},
	{"duffel-token", "duffel_live_", run, 20, glued},
	{"duffel-token", "duffel_test_", run, 20, glued},
	{"plaid-token", "access-production-", run, 32, hexed},
	{"plaid-token", "access-sandbox-", run, 32, hexed},

	{"sendgrid-key", "SG.", dotted, 24, random},
	{"mailgun-key", "key-", alnum, 32, hexed},
	{"brevo-key", "xkeysib-", run, 20, glued},
	{"brevo-key", "xsmtpsib-", run, 20, glued},
	{"resend-key", "re_", word, 20, random},
	{"hubspot-token", "pat-na1-", run, 20, hexed | random},
	{"hubspot-token", "pat-na2-", run, 20, hexed | random},
	{"hubspot-token", "pat-eu1-", run, 20, hexed | random},

	{"digitalocean-token", "dop_v1_", alnum, 32, hexed | glued},
	{"digitalocean-token", "doo_v1_", alnum, 32, hexed | glued},
	{"digitalocean-token", "dor_v1_", alnum, 32, hexed | glued},
	{"google-oauth-secret", "GOCSPX-", run, 16, glued},
	{"google-oauth-token", "ya29.", dotted, 16, glued},
	{"azure-devops-token", "AZDO-", run, 20, random},
	{"heroku-key", "HRKU-", run, 16, glued},
	{"supabase-token", "sbp_", word, 24, random},
	{"supabase-key", "sb_secret_", run, 16, glued},
	{"planetscale-token", "pscale_tkn_", dotted, 16, glued},
	{"planetscale-token", "pscale_oauth_", dotted, 16, glued},
	{"planetscale-password", "pscale_pw_", dotted, 16, glued},
	{"neon-key", "napi_", word, 32, random},
	{"fly-token", "fo1_", run, 20, random},
	{"fly-token", "fm1_", any64, 20, random},
	{"fly-token", "fm1r_", any64, 20, glued},
	{"fly-token", "fm1a_", any64, 20, glued},
	{"fly-token", "fm2_", any64, 20, random},
	{"netlify-token", "nfp_", word, 20, random},
	{"netlify-token", "nfc_", word, 20, random},
	{"netlify-token", "nfo_", word, 20, random},
	{"netlify-token", "nfu_", word, 20, random},
	{"vercel-token", "vcp_", word, 20, random},
	{"vercel-token", "vci_", word, 20, random},
	{"vercel-token", "vca_", word, 20, random},
	{"vercel-token", "vcr_", word, 20, random},
	{"vercel-token", "vck_", word, 20, random},
	{"vercel-token", "vercel_blob_rw_", word, 16, glued},
	{"cloudflare-token", "cfut_", word, 32, random},
	{"cloudflare-token", "cfat_", word, 32, random},
	{"cloudflare-token", "cfk_", word, 32, random},
	{"cloudflare-origin-key", "v1.0-", run, 40, hexed},
	{"tailscale-key", "tskey-", run, 12, random | glued},
	{"scalingo-token", "tk-us-", run, 40, random},
	{"ngrok-key", "ngrok_", alnum, 24, random},

	{"vault-token", "hvs.", run, 20, random | glued},
	{"vault-token", "hvb.", run, 20, random | glued},
	{"vault-token", "hvr.", run, 20, random | glued},
	{"vault-token", "s.", alnum, 24, random},
	{"terraform-token", ".atlasv1.", run, 16, glued | led},
	{"doppler-token", "dp.pt.", alnum, 20, glued},
	{"doppler-token", "dp.st.", dotted, 20, glued},
	{"doppler-token", "dp.sa.", alnum, 20, glued},
	{"doppler-token", "dp.ct.", alnum, 20, glued},
	{"doppler-token", "dp.scim.", alnum, 20, glued},
	{"doppler-token", "dp.audit.", alnum, 20, glued},
	{"doppler-token", "dp.said.", alnum, 20, glued},
	{"1password-token", "ops_", any64, 40, random},
	{"1password-key", "A3-", upnum | dash, 26, glued},
	{"pulumi-token", "pul-", alnum, 32, hexed},
	{"infracost-key", "ico-", alnum, 24, random},
	{"age-key", "AGE-SECRET-KEY-", alnum, 16, glued},
	{"age-key", "age-secret-key-", alnum, 16, glued},
	{"akeyless-key", "akl-", run, 24, random},

	{"grafana-token", "glc_", std64, 24, random},
	{"grafana-token", "glsa_", word, 24, random},
	{"newrelic-key", "NRAK-", alnum, 16, glued},
	{"newrelic-key", "NRII-", run, 16, glued},
	{"newrelic-key", "NRRA-", run, 16, glued},
	{"newrelic-key", "NRSP-", run, 16, glued},
	{"newrelic-key", "NRIQ-", run, 16, glued},
	{"sentry-token", "sntrys_", any64, 16, glued},
	{"sentry-token", "sntryu_", alnum, 16, glued},
	{"datadog-key", "ddapp_", alnum, 24, random},
	{"datadog-key", "ddpat_", alnum, 24, random},
	{"dynatrace-token", "dt0c01.", dotted, 24, glued},
	{"dynatrace-token", "dt0s01.", dotted, 24, glued},
	{"dynatrace-token", "dt0s16.", dotted, 24, glued},
	{"posthog-key", "phx_", alnum, 24, random},
	{"posthog-key", "phs_", alnum, 24, random},
	{"honeycomb-key", "hcaik_", alnum, 24, glued},
	{"honeycomb-key", "hcaik_live_", alnum, 24, glued},
	{"launchdarkly-key", "sdk-", run, 32, hexed | random},
	{"launchdarkly-key", "mob-", run, 32, hexed | random},

	{"linear-key", "lin_api_", alnum, 16, glued},
	{"linear-token", "lin_oauth_", alnum, 16, glued},
	{"notion-token", "ntn_", alnum, 24, random},
	{"notion-token", "secret_", alnum, 32, random},
	{"postman-key", "PMAK-", run, 20, glued},
	{"figma-token", "figd_", run, 16, random},
	{"figma-token", "figo_", run, 16, random},
	{"typeform-token", "tfp_", any64, 32, random},
	{"contentful-token", "CFPAT-", run, 24, glued},
	{"readme-key", "rdme_", alnum, 32, random},
	{"frameio-token", "fio-u-", run, 32, random},
	{"dropbox-token", "sl.", run, 40, random},
	{"adobe-secret", "p8e-", alnum, 24, glued},
	{"asana-token", "asana_pat_", word, 20, glued},
	{"defined-key", "dnkey-", run, 32, random},
	{"yandex-token", "y0_", run, 32, random},
	{"yandex-token", "t1.", dotted, 60, random},
	{"amazon-mws-token", "amzn.mws.", run, 20, glued},
	{"amazon-oauth-secret", "amzn1.oa2-cs.v1.", alnum, 20, glued},
	{"openshift-token", "sha256~", run, 30, glued},
	{"azure-secret", "7Q~", dotted | tilde, 24, glued | led},
	{"azure-secret", "8Q~", dotted | tilde, 24, glued | led},
}

// runTokens are known by letters and digits alone, which begin a run of
// base64url text. None has a separator that could serve as an anchor.
var runTokens = [...]token{
	{"aws-key-id", "AKIA", upnum, 12, glued},
	{"aws-key-id", "ASIA", upnum, 12, glued},
	{"aws-key-id", "ABIA", upnum, 16, random},
	{"aws-key-id", "ACCA", upnum, 16, random},
	{"google-api-key", "AIza", run, 24, glued},
	{"alibaba-key-id", "LTAI", alnum, 12, random},
	{"tencent-key-id", "AKID", alnum, 28, random},
	{"yandex-token", "AQVN", run, 32, random},
	{"atlassian-token", "ATATT3", any64, 24, glued},
	{"atlassian-token", "ATCTT3", any64, 24, glued},
	{"atlassian-token", "ATSTT3", any64, 24, glued},
	{"bitbucket-password", "ATBB", alnum, 24, random},
	{"trello-token", "ATTA", alnum, 56, hexed},
	{"artifactory-key", "AKCp", alnum, 56, random},
	{"artifactory-token", "cmVmdGtuO", alnum, 30, glued},
	{"databricks-token", "dapi", run, 32, hexed},
	{"twilio-key", "SK", alnum, 32, hexed | exact},
	{"twilio-sid", "AC", alnum, 32, hexed | exact},
	{"gitlab-token", "GR1348941", run, 16, glued},
	{"crates-token", "cio", alnum, 32, random},
	{"nuget-key", "oy2", alnum, 40, random},
	{"square-token", "EAAA", run, 50, random},
	{"facebook-token", "EAA", alnum, 50, random},
	{"instagram-token", "IGQV", run, 50, random},
	{"easypost-key", "EZAK", alnum, 40, random},
	{"easypost-key", "EZTK", alnum, 40, random},
	{"bitcoin-key", "xprv", alnum, 80, random},
	{"nostr-key", "nsec1", alnum, 50, random},
	{"jwt", "eyJhbGciO", dotted, 8, glued}, // {"alg":
	{"jwt", "eyJ0eXAiO", dotted, 8, glued}, // {"typ":
	{"jwt", "eyJraWQiO", dotted, 8, glued}, // {"kid":
}

// anchors finds the tokens whose prefix ends in two given bytes: by the last,
// which is _ - . or ~, and the one before it.
type anchors [4][256][]*token

var anchored = sync.OnceValue(func() *anchors {
	a := new(anchors)
	for i := range tokens {
		t := &tokens[i]
		n := len(t.prefix)
		at := &a[anchorSlot(t.prefix[n-1])][t.prefix[n-2]]
		*at = append(*at, t)
	}
	return a
})

func anchorSlot(c byte) int { return strings.IndexByte("_-.~", c) }

// decided is how much of a token's body is looked at to tell whether it is
// one. The rest only has to be of the alphabet.
const decided = 96

// holds reports whether body, the beginning of what follows the prefix, is a
// secret's. atEnd says that the text stops right after it, so that it may be
// the beginning of a longer one.
func (t *token) holds(body string, atEnd bool) bool {
	switch {
	case filler(body):
		return false
	case len(body) < t.min:
		return atEnd && t.how&glued != 0 && len(t.prefix)+len(body) >= 8 && len(body) >= 3 && !wordy(body)
	case t.how&exact != 0 && len(body) != t.min:
		return false
	case t.how&hexed != 0 && span(body, 0, hexa, t.min) < min(t.min, t.hexDigits()):
		return false
	case t.how&random != 0:
		return !wordy(body)
	}
	return true
}

// hexDigits is how many hexadecimal digits a hexed body begins with.
func (t *token) hexDigits() int {
	if t.body&dash != 0 {
		return 8
	}
	return t.min
}

// skKinds are the classes of keys that begin with "sk-", by what follows.
var skKinds = [...]struct{ class, after string }{
	{"anthropic-key", "ant-"},
	{"openrouter-key", "or-"},
	{"openai-key", "proj-"},
	{"openai-key", "svcacct-"},
	{"openai-key", "admin-"},
	{"langfuse-key", "lf-"},
}

// skKey tells whether body, which follows "sk-", is a key's, and of which
// class. bare says that a letter or digit stands before the "sk-", so that it
// may be the end of a word ("task-", "disk-").
func skKey(body string, bare, atEnd bool) (class string, ok bool) {
	for _, k := range skKinds {
		rest, found := strings.CutPrefix(body, k.after)
		if found && filler(rest) {
			return "", false
		}
		if found && (len(rest) >= 8 || atEnd && len(rest) >= 3) && (bare || len(rest) >= 16 && !wordy(rest)) {
			return k.class, true
		}
	}
	if filler(body) {
		return "", false
	}
	part := span(body, 0, alnum, len(body))
	switch {
	case !bare:
		return "sk-key", part >= 20 && !wordy(body[:part])
	case len(body) < 16:
		return "sk-key", atEnd && len(body) >= 6 && part >= 6 && !wordy(body)
	case part >= 20:
		return "sk-key", true
	}
	// Names of CSS classes begin with "sk-" too, in small letters without digits.
	for i := range len(body) {
		if is(body[i], digit|upper) {
			return "sk-key", true
		}
	}
	return "sk-key", !wordy(body)
}
