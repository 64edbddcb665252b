/** `Enter ~ .` leaves a hung connection, as in ssh; `~~` sends one `~`. Everything else passes through. */
const [enter, newLine, tilde, dot] = [0x0d, 0x0a, 0x7e, 0x2e]

export class EscapeKeys {
  #atLineStart = true
  #isHeld = false

  take(typed: Uint8Array): { passed: Uint8Array<ArrayBuffer>; leaves: boolean } {
    const passed: number[] = []
    for (const byte of typed) {
      if (this.#isHeld) {
        this.#isHeld = false
        this.#atLineStart = false
        if (byte === dot) return { passed: Uint8Array.from(passed), leaves: true }
        passed.push(tilde)
        if (byte === tilde) continue
      } else if (this.#atLineStart && byte === tilde) {
        this.#isHeld = true
        continue
      }
      passed.push(byte)
      this.#atLineStart = byte === enter || byte === newLine
    }
    return { passed: Uint8Array.from(passed), leaves: false }
  }
}
