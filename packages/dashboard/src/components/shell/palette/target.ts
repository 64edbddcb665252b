/** A row of the palette, and which rows match what is typed. */
import type { LucideIcon } from 'lucide-react'

export interface Target {
  kind: 'page' | 'project' | 'change request' | 'session' | 'file' | 'search' | 'action'
  /** Unique in the palette. */
  value: string
  label: string
  Icon: LucideIcon
  /** Colors the icon by the state that `state` names. */
  tone?: string
  state?: string
  /** What the label alone does not say, such as its project. A narrow screen hides it when it is `minor`. */
  where: string
  isMinor?: boolean
  isCode?: boolean
  /** Other words that find it. */
  also?: string
  /** Goes there, or acts. */
  run: () => unknown
}

export interface Group {
  value: string
  items: Target[]
  /** The heading does not say what the rows are. */
  isMixed?: boolean
}

/** What Enter does with a row. */
export const acts = {
  page: 'Open page',
  project: 'Open project',
  'change request': 'Open change request',
  session: 'Open session',
  file: 'Open file',
  search: 'Search files',
  action: 'Run action',
} as const satisfies Record<Target['kind'], string>

export const wordsOf = (text: string) => text.toLowerCase().split(/\s+/).filter(Boolean)

/** Every word is in the label or beside it, and one is in the label: the name of a project alone does not list its pages. */
export function matches({ label, where, also = '' }: Target, words: readonly string[]): boolean {
  const own = `${label} ${also}`.toLowerCase()
  const all = `${own} ${where.toLowerCase()}`
  return words.every((word) => all.includes(word)) && (words.length === 0 || words.some((word) => own.includes(word)))
}

/** Each word begins one of the row: a person who types it more likely means the row than one that has it inside a word. */
export function isLikely({ label, also = '' }: Target, words: readonly string[]): boolean {
  const own = wordsOf(`${label} ${also}`)
  return words.every((word) => own.some((each) => each.startsWith(word)))
}

/** Those that begin with what is typed come first. */
export function matching(items: Target[], words: readonly string[], max: number): Target[] {
  const begins = ({ label }: Target) => label.toLowerCase().startsWith(words.join(' '))
  const found = items.filter((each) => matches(each, words))
  return [...found.filter(begins), ...found.filter((each) => !begins(each))].slice(0, max)
}
