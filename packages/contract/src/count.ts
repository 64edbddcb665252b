/** A number with its noun, such as `1 project`, `2 copies` or `3 days`. */
export function count(number: number, noun: string): string {
  const plural = /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`
}
