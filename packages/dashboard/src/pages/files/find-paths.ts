/** The paths that contain every word, those with it in the file's name first. */
export function findPaths(files: { path: string }[], text: string, max: number): string[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const [inName, elsewhere]: [string[], string[]] = [[], []]
  for (const { path } of files) {
    const lower = path.toLowerCase()
    if (!words.every((word) => lower.includes(word))) continue
    const name = lower.slice(lower.lastIndexOf('/') + 1)
    ;(words.every((word) => name.includes(word)) ? inName : elsewhere).push(path)
    if (inName.length === max) break
  }
  return [...inName, ...elsewhere].slice(0, max)
}
