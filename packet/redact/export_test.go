package redact

import "math/rand/v2"

// Secret is one made-up secret of the corpus: Hidden is what of Whole must go.
type Secret struct{ Kind, Whole, Hidden string }

// Secrets makes one secret of each kind of the corpus.
func Secrets(seed uint64) (all []Secret) {
	rng := rand.New(rand.NewPCG(seed, 12))
	for _, k := range secretKinds {
		whole, hidden := plant(expand(rng, k.template))
		all = append(all, Secret{k.name, whole, hidden})
	}
	return all
}

// Prose holds no secret.
const Prose = prose
