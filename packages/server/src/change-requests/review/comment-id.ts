import { createHash } from 'node:crypto'

/** The id that the database gives to a comment, computed here for the prompt, which is written before its review. */
export function commentId(reviewId: string, position: number): string {
  const hex = createHash('md5').update(`${reviewId}:${position}`).digest('hex')
  const marked = `${hex.slice(0, 12)}8${hex.slice(13, 16)}8${hex.slice(17)}`
  return marked.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** As people and agents write it. */
export const shortId = (id: string) => id.slice(0, 8)
