/** The note of a question is the end of its `detail`, so that clients which do not know of notes show it. Loads no zod: the pages use it too. */
interface Detailed {
  detail: string
  /** Servers before the note omit it. */
  note?: string
}

export const withNote = (about: string, note: string) => [about, note].filter((text) => text !== '').join('\n\n')

/** The command, change or choices alone. */
export function withoutNote({ detail, note = '' }: Detailed): string {
  return note !== '' && detail.endsWith(note) ? detail.slice(0, -note.length).trimEnd() : detail
}
