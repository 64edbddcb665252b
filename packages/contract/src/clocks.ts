/** How far a clock is from another one, such as `300 seconds ahead of`. A negative number is behind. */
export function aheadText(seconds: number): string {
  return `${Math.abs(seconds)} seconds ${seconds > 0 ? 'ahead of' : 'behind'}`
}
