import { describe, expect, test } from 'bun:test'
import { isTest } from './architecture.ts'
import { handWritten, parseSource, readSource } from './sources.ts'
import { namedSilence, shortFunctions, type SyntaxRule } from './syntax-rules.ts'

const rules = { shortFunctions, namedSilence }

describe('the syntax rules hold for the program', () => {
  const sources = handWritten()
    .filter((path) => !isTest(path))
    .map(readSource)
    // Suites that several drivers share are tests too, without the name of one.
    .filter(({ text }) => !text.includes("from 'bun:test'"))
  test('finds the sources of the program', () => expect(sources.length).toBeGreaterThan(500))
  for (const [name, rule] of Object.entries(rules))
    test(`the program keeps the rule ${name}`, () => expect(sources.flatMap((source) => rule(source))).toEqual([]))
})

describe('the syntax rules find violations', () => {
  const long = `export function f() {\n${'  x()\n'.repeat(69)}}`
  const violations: [SyntaxRule, string][] = [
    [shortFunctions, long],
    [shortFunctions, `export const f = () => {\n${'  x()\n'.repeat(69)}}`],
    [shortFunctions, `class A {\n  f() {\n${'    x()\n'.repeat(69)}  }\n}`],
    [namedSilence, 'await x().catch(() => {})'],
    [namedSilence, 'await x().catch(() => undefined)'],
    [namedSilence, 'await x().catch((error) => void error)'],
    [namedSilence, 'try { x() } catch {\n  // A reason in a comment has no name.\n}'],
  ]
  test.each(violations)('the rule %p finds %p', (rule, text) => {
    const found = rule(parseSource('packages/server/src/a.ts', text))
    expect(found).toHaveLength(1)
    expect(found[0]).toStartWith('packages/server/src/a.ts:')
  })
})

describe('the syntax rules accept valid code', () => {
  const right: [SyntaxRule, string][] = [
    [shortFunctions, `export function f() {\n${'  x()\n'.repeat(68)}}`],
    [namedSilence, 'await x().catch(ignoreClosedSocket)'],
    [namedSilence, 'const y = await x().catch(() => null)'],
    [namedSilence, 'try { x() } catch (error) { log.debug({ err: error }) }'],
  ]
  test.each(right)('the rule %p accepts %p', (rule, text) => expect(rule(parseSource('a.ts', text))).toEqual([]))
})
