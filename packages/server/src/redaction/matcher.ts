import { Automaton } from './automaton.ts'

export interface Matcher {
  watch(found: (from: number, to: number, name: string) => void): Watch
}

/** The progress of a matcher in one text. */
export interface Watch {
  step(code: number, at: number): void
}

export interface Pattern {
  name: string
  text: string
}

export function exactly(patterns: readonly Pattern[]): Matcher {
  const automaton = new Automaton(patterns.map(({ text }) => text))
  return {
    watch(found) {
      let state = 0
      return {
        step(code, at) {
          state = automaton.step(state, code)
          const end = state === 0 ? -1 : automaton.endOf(state)
          if (end !== -1) found(at + 1 - automaton.lengthOf(end), at + 1, patterns[end]!.name)
        },
      }
    },
  }
}

const newLine = 10
const carriageReturn = 13

/** Matches encodings across line breaks: `base64` wraps after 76 characters. */
export function acrossLines(patterns: readonly Pattern[]): Matcher {
  const automaton = new Automaton(patterns.map(({ text }) => text))
  const longest = patterns.reduce((most, { text }) => Math.max(most, text.length), 1)
  return {
    watch(found) {
      let state = 0
      let count = 0
      let places: Int32Array | null = null
      const placeOf = (nth: number) => places?.[nth % longest] ?? 0
      return {
        step(code, at) {
          if (code === newLine || code === carriageReturn) return
          state = automaton.step(state, code)
          if (state !== 0) (places ??= new Int32Array(longest))[count % longest] = at
          count++
          const end = state === 0 ? -1 : automaton.endOf(state)
          if (end !== -1) found(placeOf(count - automaton.lengthOf(end)), at + 1, patterns[end]!.name)
        },
      }
    },
  }
}

export interface TokenShape extends Pattern {
  /** The characters that may follow the prefix, and the minimum and maximum count. */
  follows: RegExp
  min: number
  max: number
}

/** Matches tokens by their prefix, so that they need not be known. */
export function tokensOf(shapes: readonly TokenShape[]): Matcher {
  const automaton = new Automaton(shapes.map(({ text }) => text))
  const allowed = shapes.map(({ follows }) =>
    Uint8Array.from({ length: 128 }, (_, code) => (follows.test(String.fromCharCode(code)) ? 1 : 0)),
  )
  return {
    watch(found) {
      let state = 0
      /** Never many, because a prefix has at least eight characters. */
      let open: { shape: number; from: number; taken: number }[] = []
      return {
        step(code, at) {
          if (open.length > 0) {
            open = open.filter(({ shape, taken }) => allowed[shape]![code] === 1 && taken < shapes[shape]!.max)
            for (const token of open)
              if (++token.taken >= shapes[token.shape]!.min) found(token.from, at + 1, shapes[token.shape]!.name)
          }
          state = automaton.step(state, code)
          const end = state === 0 ? -1 : automaton.endOf(state)
          if (end !== -1) open.push({ shape: end, from: at + 1 - automaton.lengthOf(end), taken: 0 })
        },
      }
    },
  }
}
