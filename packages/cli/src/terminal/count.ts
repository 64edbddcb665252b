/** A number with its noun, such as `1 project` or `2 copies`. */
export function count(number: number, noun: string): string {
  const plural = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`
}
