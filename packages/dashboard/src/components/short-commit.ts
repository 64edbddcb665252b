/** The id of a commit as text on a page. */
export const shortCommit = (sha: string) => sha.slice(0, 10)
