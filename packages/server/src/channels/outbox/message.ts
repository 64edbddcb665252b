/** A platform-neutral message. Foreign text is always a part of its own, so it can never become markup. */

/** `person` is an id of the platform and renders as a mention. */
export type Word = string | { bold: string } | { code: string } | { link: string; text: string } | { person: string }

export type Part =
  /** Markdown from an agent. */
  | { kind: 'markdown'; text: string }
  | { kind: 'line'; words: Word[] }
  /** Secondary text. */
  | { kind: 'note'; words: Word[] }
  | { kind: 'buttons'; buttons: Button[] }

export type Button =
  | { kind: 'link'; label: string; url: string }
  | { kind: 'merge'; label: string; value: string; confirm: Confirm }
  | { kind: 'answer'; label: string; value: string; confirm: Confirm | null }

/** Confirmation dialog of a button. */
export interface Confirm {
  title: string
  text: string
  yes: string
}

export interface Message {
  /** For notifications and clients that show no parts. */
  summary: string
  parts: Part[]
}

/** A message in the outbox. */
export interface StoredMessage extends Message {
  /** Makes a link code for this user at delivery, so that no table ever holds one. */
  invites?: { workspaceId: string; chatUserId: string }
}

/** The numbers of a card, which only git can compute. */
export interface CardFacts {
  additions: number
  deletions: number
  files: number
  /** Null when the merge could not be tried. */
  conflicts: number | null
}

const summaryCharsMax = 200

export function line(...words: Word[]): Message {
  return { summary: plain(words), parts: [{ kind: 'line', words }] }
}

/** The text without formatting. */
export function plain(words: Word[]): string {
  const text = words
    .map((word) => {
      if (typeof word === 'string') return word
      if ('bold' in word) return word.bold
      if ('code' in word) return word.code
      return 'text' in word ? word.text : ''
    })
    .join('')
  return cut(text, summaryCharsMax)
}

/** Applies `change` to every text; links, ids and values stay. */
export function mapTexts<M extends Message>(message: M, change: (text: string) => string): M {
  const word = (one: Word): Word => {
    if (typeof one === 'string') return change(one)
    if ('bold' in one) return { bold: change(one.bold) }
    if ('code' in one) return { code: change(one.code) }
    return 'link' in one ? { ...one, text: change(one.text) } : one
  }
  const part = (one: Part): Part => {
    if (one.kind === 'markdown') return { ...one, text: change(one.text) }
    return one.kind === 'buttons' ? one : { ...one, words: one.words.map(word) }
  }
  return { ...message, summary: change(message.summary), parts: message.parts.map(part) }
}

export function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`
}
