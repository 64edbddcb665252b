import { describe, expect, test } from 'bun:test'
import { type AddedLine, matchAdded, matchRemoved } from './match-lines.ts'
import { WrittenLines } from './written-lines.ts'

const edit = (removed: string[], added: string[]) => ({ kind: 'edit' as const, removed, added })
const whole = (...added: string[]) => ({ kind: 'whole' as const, removed: [], added })

function after(...writes: (ReturnType<typeof edit> | ReturnType<typeof whole>)[]): WrittenLines {
  const written = new WrittenLines()
  for (const [call, write] of writes.entries()) written.apply(call, write)
  return written
}

const lines = (texts: string[], more: Partial<AddedLine> = {}): AddedLine[] =>
  texts.map((text, at) => ({ line: at + 1, text, byAgent: true, committedAt: 10_000, ...more }))
const match = (texts: string[], written: WrittenLines, more: Partial<AddedLine> = {}) =>
  matchAdded(
    lines(texts, more),
    written,
    Array.from({ length: 10 }, (_, call) => ({ startedAt: call * 1_000 })),
  )

describe('which call wrote a line', () => {
  test('a later edit that replaced the line has it, and what a later edit removed has none', () => {
    expect(match(['b'], after(edit([], ['a']), edit(['a'], ['b'])))).toEqual([1])
    expect(match(['a'], after(edit([], ['a']), edit(['a'], [])))).toEqual([null])
  })

  test('claims none when one of two writers of a line had it removed', () => {
    expect(match(['x', 'same'], after(edit([], ['same']), edit([], ['same']), edit(['same'], [])))).toEqual([
      null,
      null,
    ])
    expect(match(['one', 'same'], after(edit([], ['one', 'same']), edit([], ['same']), edit(['same'], [])))).toEqual([
      0,
      null,
    ])
    expect(match(['same'], after(edit([], ['same']), edit([], ['same']), whole('same')))).toEqual([null])
  })

  test('a call that writes the whole file again keeps the writer of its old lines', () => {
    expect(match(['a', 'new'], after(edit([], ['a']), whole('a', 'new')))).toEqual([0, 1])
  })

  test('claims none of two equal lines when only one of them was written', () => {
    expect(match(['same', 'x', 'same'], after(edit([], ['same'])))).toEqual([null, null, null])
  })

  test('claims no line that two calls wrote, unless the line beside it tells which', () => {
    const written = after(edit([], ['one', 'return x']), edit([], ['two', 'return x']))
    expect(match(['return x'], written)).toEqual([null])
    expect(match(['one', 'return x', 'two', 'return x'], written)).toEqual([0, 0, 1, 1])
  })

  test('a brace alone has no writer, and inside of written lines it has theirs', () => {
    expect(match(['}'], after(edit([], ['}'])))).toEqual([null])
    expect(match(['f() {', '}'], after(edit([], ['f() {', '}'])))).toEqual([0, 0])
  })

  test('a line of a commit by a person, or of one before the call, has no writer', () => {
    expect(match(['a'], after(edit([], ['a'])), { byAgent: false })).toEqual([null])
    expect(match(['a'], after(edit([], []), edit([], []), edit([], ['a'])), { committedAt: 500 })).toEqual([null])
  })

  test('removed lines have the call that removed them last, or that wrote the file without them', () => {
    expect(matchRemoved(['a', ''], after(edit(['a'], [])))).toEqual([0, 0])
    expect(matchRemoved(['a'], after(edit(['a'], []), edit([], ['a'])))).toEqual([null])
    expect(matchRemoved(['of the base'], after(whole('of the base'), whole('other')))).toEqual([1])
    expect(matchRemoved(['never seen'], after(edit(['a'], [])))).toEqual([null])
  })

  test('twenty thousand equal lines of two thousand calls are matched before the test runs out of time', () => {
    const many = Array.from({ length: 20_000 }, (_, at) => (at % 2 === 0 ? 'same' : `own ${at}`))
    const same = Array.from({ length: 100 }, () => 'same')
    const written = after(edit([], many.toReversed()), ...Array.from({ length: 2_000 }, () => edit(['same'], same)))
    expect(match(many, written).filter((call) => call === 0)).toHaveLength(10_000)
  })
})
