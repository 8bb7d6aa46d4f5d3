package redact

// pairs says how likely two letters stand beside each other in words and
// names, by first and second letter: '6' is as likely as in random text, each
// step a factor of about 2. Counted over English documentation and the names in
// a large body of source code, case folded.
const pairs = "" +
	"57885674736989372989675563" + // a
	"74547432652733631663723252" + // b
	"84658538637754952768653342" + // c
	"75579544832644743664644342" + // d
	"86897765644879676998575863" + // e
	"64557732801644741665623241" + // f
	"63538345611546641665532233" + // g
	"82338223713443741546523131" + // h
	"77877672334879862788374526" + // i
	"51225111312111421151411100" + // j
	"52337334612334431353413131" + // k
	"84469544933844842477654372" + // l
	"86448322713563781364632241" + // m
	"84888693735546752489653153" + // n
	"66774663535789671977766443" + // o
	"83548336614753762867633241" + // p
	"12121111200131112222622111" + // q
	"94669563926676852787654262" + // r
	"74749547815754774589745363" + // s
	"84659548923654862887635473" + // t
	"56656552623768462777232422" + // u
	"73448432601453553354333312" + // v
	"62336225612334521652212211" + // w
	"43545412501341361366242421" + // x
	"53334222412556460455333222" + // y
	"41216113401322310222212222" // z

// The price of a seam between two bytes that words don't have, in the unit of
// pairs.
const (
	humpSeam  = -1 // aB: usual in names, twice as usual in random text
	digitSeam = -3 // a1, 1a
)

// likeness says how much s looks like words: the sum over its neighbouring
// letters and digits of how likely they are in words and names. Random text of
// any usual alphabet loses nearly two points a byte, words and names of
// programs gain one or more.
func likeness(s string) int {
	score := 0
	for i := 1; i < len(s); i++ {
		a, b := s[i-1], s[i]
		switch {
		case !is(a, alnum) || !is(b, alnum):
		case is(a, digit) != is(b, digit):
			score += digitSeam
		case is(a, digit):
		case is(a, lower) && is(b, upper):
			score += humpSeam
		default:
			score += int(pairs[26*int(toLower(a)-'a')+int(toLower(b)-'a')]) - '6'
		}
	}
	return score
}

// wordy reports whether s reads like words, a name of a program or a number
// rather than like random text. Short texts are hard to tell: it leans to
// "random" where letters and digits mix.
func wordy(s string) bool {
	letters, digits := 0, 0
	for i := range len(s) {
		switch {
		case isLetter(s[i]):
			letters++
		case is(s[i], digit):
			digits++
		}
	}
	if letters == 0 {
		return true
	}
	return digits <= letters && 5*likeness(s) > len(s)
}
