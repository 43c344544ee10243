/**
 * What texts are compared by: the words of a text, the same for every store, so that an item is found or not wherever it lies.
 *
 * Words are folded (NFKC, lower case, no diacritics) and lightly stemmed. Scripts written without spaces give pairs of characters.
 * Identifiers give their parts and themselves: `getUserName`, `get_user_name` and `get-user-name` share every word. A word holds
 * letters, marks, digits and, between digits, dots, nothing else: stores may put any other character between words.
 *
 * Work is linear in the text, and only so much of a text is read; what follows is kept, but not found by its words.
 */

/** Characters of a text that are read. */
const readCharacters = 2 * 1024 * 1024;
/** Longer words are cut: they are keys, hashes and noise. */
const wordCharacters = 64;
/** Words of a query that are asked for; of more, the longest, which are the rarest. */
const queryWordCount = 64;

/** Longer runs of letters are read in pieces. */
const runCharacters = 4096;
// One class and one bounded quantifier: little to go back to, whatever the text.
const runs = /[\p{L}\p{N}\p{M}\p{Pc}.\-\u2010\u2011]{1,4096}|\p{Extended_Pictographic}/gu;
const separators = /[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}]+/u;
// The marks of Katakana belong to no script of their own.
const spaceless =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u30fc\u3099\u309a]+/gu;
const humps = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
// Combining marks of Latin, Greek and Cyrillic, Hebrew points and Arabic vowels. In other scripts marks are part of the word.
const diacritics = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]+/gu;
const plain = /^[\0-\x7f]*$/;
const digits = /^\p{N}+$/u;

/** The words of a text in their order, repeated as often as they occur. */
export function wordsOf(text: string): string[] {
  const found: string[] = [];
  const read = text.slice(0, readCharacters);
  // Composed, so that equivalent texts fall into the same runs.
  for (const [run] of (plain.test(read) ? read : read.normalize("NFC")).matchAll(runs)) addRun(run, found);
  return found;
}

/** The words to ask for, each once. Words like "the" and "of" only if there are no others. */
export function queryWords(text: string): string[] {
  const all = [...new Set(wordsOf(text))];
  const telling = all.filter((word) => !stopWords.has(word));
  const asked = telling.length > 0 ? telling : all;
  if (asked.length <= queryWordCount) return asked;
  return asked.sort((a, b) => b.length - a.length).slice(0, queryWordCount);
}

function addRun(run: string, found: string[]): void {
  if (plain.test(run)) {
    addIdentifier(run, found);
    return;
  }
  // A single character can become eighteen; no text that people write doubles.
  const folded = run.normalize("NFKC").slice(0, 2 * runCharacters);
  let end = 0;
  for (const { 0: segment, index } of folded.matchAll(spaceless)) {
    addIdentifier(folded.slice(end, index), found);
    addPairs([...segment], found);
    end = index + segment.length;
  }
  addIdentifier(folded.slice(end), found);
}

function addPairs(characters: readonly string[], found: string[]): void {
  if (characters.length === 1) found.push(characters[0] as string);
  for (let i = 1; i < characters.length; i++) found.push(`${characters[i - 1]}${characters[i]}`);
}

function addIdentifier(text: string, found: string[]): void {
  let count = 0;
  let whole = "";
  let numeric = true;
  for (const part of text.split(separators)) {
    for (const piece of part.slice(0, 4 * wordCharacters).split(humps)) {
      const word = fold(piece);
      if (word === "") continue;
      found.push(stem(word));
      count++;
      numeric &&= digits.test(word);
      if (whole.length <= wordCharacters) whole += whole !== "" && numeric ? `.${word}` : word;
    }
  }
  if (count > 1) found.push(stem(cutWord(whole)));
}

function fold(text: string): string {
  if (plain.test(text)) return text.slice(0, wordCharacters).toLowerCase();
  return cutWord(text.toLowerCase().normalize("NFD").replace(diacritics, "").normalize("NFC"));
}

/** Never through the middle of a character. */
function cutWord(word: string): string {
  if (word.length <= wordCharacters) return word;
  return word.slice(0, /[\ud800-\udbff]/.test(word.charAt(wordCharacters - 1)) ? wordCharacters - 1 : wordCharacters);
}

const letters = /^[a-z]{3,}$/;
const vowel = /[aeiouy]/;

/** Plurals, -ing and -ed of English, and only where what is left is still a word. */
function stem(word: string): string {
  if (!letters.test(word)) return word;
  let short = word;
  if (short.endsWith("ies") && short.length > 4) short = short.slice(0, -2);
  else if (short.length > 3 && /[^sui]s$/.test(short) && vowel.test(short.slice(0, -1))) short = short.slice(0, -1);
  if (short.endsWith("ied") && short.length > 4) short = short.slice(0, -2);
  else short = withoutEnding(withoutEnding(short, "ing"), "ed");
  if (short.length > 3 && short.endsWith("e")) short = short.slice(0, -1);
  if (/[^aeiouy]y$/.test(short)) short = `${short.slice(0, -1)}i`;
  return short;
}

function withoutEnding(word: string, ending: "ing" | "ed"): string {
  if (!word.endsWith(ending) || word.endsWith("eed")) return word;
  const left = word.slice(0, -ending.length);
  if (left.length < 3 || !vowel.test(left)) return word;
  return /([^aeiouylsz])\1$/.test(left) ? left.slice(0, -1) : left;
}

const stopWords = new Set(
  [
    "a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it its me my no not",
    "of on or our she should so some than that the their them then there these they this to us was we were what when where which who",
    "why will with would you your s t d m ll re ve",
  ]
    .join(" ")
    .split(" ")
    .map(stem),
);
