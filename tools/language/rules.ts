import { wordsIn } from './sentences.ts'

export interface Rule {
  /** What is wrong with the sentence: the words that break the rule. */
  find(sentence: string): string | undefined
  /** What to write instead. */
  advice: string
}

/** The longest sentence that passes. Aim for 20. */
export const WORDS_MAX = 40

const PEOPLE =
  'people|persons?|someone|anyone|everyone|those|you|users?|operators?|developers?|engineers?|readers?|maintainers?|' +
  'newcomers?|customers?|authors?|visitors?|viewers?|colleagues?|owners?|strangers?|attackers?|teams?|admins?|' +
  'administrators?|contributors?|humans?'

const RELATIVE_WHO = new RegExp(`\\b(?:${PEOPLE})[,)]?(?: and| or)?\\s+whom?\\b`, 'gi')

/** Words that are ours alone, and the words of the field for them. Ordinary English words are not in this list. */
const PRIVATE_WORDS: [pattern: RegExp, instead: string][] = [
  [/\bhouseholds?\b|\bprobation\b/i, 'crash isolation'],
  [/\bvitals\b/i, 'worker state'],
  [/\b(?:queue|limit) ?books?\b/i, 'stats, cache'],
  [/\bnews\b/i, 'outbox, change'],
  [/\bheld ahead\b|\bholds? ahead\b|\bholding ahead\b/i, 'prefetched'],
  [/\bholdups?\b/i, 'unavailable resource'],
  [/\blook(?:s|ed|ing)? ?(?:out|along|over|ahead|round|around|behind)\b/i, 'peek, scan, check'],
  [/\boutlooks?\b/i, 'claim preconditions'],
  [/\bjourneys?\b/i, 'round trip, pipeline'],
  [/\bvolleys?\b/i, 'batch'],
  [/\bin[ _]passing\b/i, 'in the background'],
  [/\bturnstiles?\b/i, 'limit key'],
  [/\block ?bells?\b/i, 'lock notifier'],
  [/\baftermath\b|\bleavers?\b|\bverdicts?\b|\bjudge?ments?\b/i, 'exit, crash recovery, exit cause'],
  [/\bblackboards?\b/i, 'shared run table'],
  [/\beras?\b/i, 'order generation'],
  [/\bchores?\b/i, 'maintenance job'],
  [/\bupkeep\b/i, 'maintenance'],
  [/\bin (?:its|their|other|the worker's) hands?\b|\bin hand\b|\bso many hands\b/i, 'in flight, running'],
  [/\bnone (?:waits|wait|was|were|runs)\b/i, '0 waiting, 0 running'],
  [/\bhow it goes\b/i, 'progress'],
  [/^was at$/i, 'phase at exit'],
  [/^looks?$/i, 'view, view failures'],
]

const INVERSIONS = [
  // At the start of a sentence no subject can stand before the verb. An imperative ("Do not …") is none of these.
  /^(?:Was|Were|Is|Are|Should|Has|Had|Does|Did|Can|Could|Would|Will|Must|May) (?!not\b|you mean\b)/,
  /^(?:Do|Have) (?:they|we|you|its|others|nothing) /,
  // After a semicolon or a colon: "…; is it the code, fix it".
  /[;:–] (?:was|were|is|are|should|has|had|does|did|do) (?:it|they|you|there|the|a|an|nothing) [^?]*,/,
  /, (?:should|were|had) (?:it|they|you|there|nothing) /,
]

/** Each rule of the language that a program can check. */
export const RULES: Record<string, Rule> = {
  who: {
    find: (sentence) => {
      const others = sentence.replaceAll(RELATIVE_WHO, '')
      if (/\?["”)*_]*$/.test(others.trim())) return found(others, /\bwho(?:so)?ever\b/i)
      return found(others, /\b(?:who(?:so)?ever|whom|who)\b/i)
    },
    advice: 'name the actor: the worker, the process, the supervisor, you',
  },
  he: {
    find: (sentence) => found(sentence, /\b(?:he|his|him|himself|she|hers|herself)\b/i),
    advice: 'a program is "it"; name the actor',
  },
  somebody: {
    find: (sentence) => found(sentence, /\b(?:some|no|every|any)body\b/i),
    advice: 'name the actor: another process, no worker, all workers',
  },
  mend: {
    find: (sentence) => found(sentence, /\bmend(?:s|ed|ing)?\b/i),
    advice: 'fix',
  },
  none: {
    find: (sentence) =>
      found(sentence, /(?<!\bthere )\b(?:is|are) (?:none\b(?! of)|no (?!longer\b|more\b|other\b)\w+)/i),
    advice: 'is not a …, is not valid',
  },
  'tried-again': {
    find: (sentence) => found(sentence, /\b(?:tried|tries) (?:it |them |this )?again\b/i),
    advice: 'retry, or say what retries and when',
  },
  told: {
    find: (sentence) =>
      found(
        sentence,
        /\b(?:is|are|was|were|be|been|being|gets?) (?:said|told(?! apart)|looked (?:at|for))\b/i,
      ),
    advice: 'say what does it: the log says, the worker reports, Gleaner checks',
  },
  inverted: {
    find: (sentence) => {
      const start = sentence.replace(/^[\s"“'(*_[–-]+/, '')
      if (/\?["”)*_]*$/.test(start)) return undefined
      for (const inversion of INVERSIONS) {
        const match = inversion.exec(start)
        if (match) return match[0].trim()
      }
      return undefined
    },
    advice: 'start a condition with "if" or "when", and a statement with its subject',
  },
  'private-word': {
    find: (sentence) => {
      for (const [pattern, instead] of PRIVATE_WORDS) {
        const word = found(sentence, pattern)
        if (word !== undefined) return `${word} (write: ${instead})`
      }
      return undefined
    },
    advice: 'write the word of the field',
  },
  long: {
    find: (sentence) => {
      const words = wordsIn(sentence)
      return words > WORDS_MAX ? `${words} words` : undefined
    },
    advice: `one idea a sentence: at most ${WORDS_MAX} words, rarely more than 20`,
  },
}

function found(sentence: string, pattern: RegExp): string | undefined {
  return pattern.exec(sentence)?.[0].trim()
}
