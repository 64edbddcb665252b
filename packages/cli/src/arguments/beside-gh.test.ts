/** The table "Beside gh" of the guide: the client accepts every command and flag in it. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AnyCommand } from './command.ts'
import { parses } from './parse-command-line.ts'
import { findCommand } from '../run.ts'
import { splitWords } from './alias.ts'

const guide = readFileSync(join(import.meta.dir, '../../../../docs/guide/client.md'), 'utf8')
const section = /^## Beside gh$([^]*?)^## /m.exec(guide)![1]!
const rows = section
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|[-| ]+\|$/.test(line))
  .slice(1)
  .map(
    (line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()) as [string, string, string],
  )
const code = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!)

/** The command with its required arguments and flags. */
async function commandOf(line: string): Promise<{ words: string[]; command: AnyCommand; needed: string[] }> {
  const found = findCommand(line.split(' ').slice(1))
  if (found.kind !== 'command') throw new Error(`${line} is ${found.kind}`)
  const command = await found.load()
  const args = Object.values(command.args).flatMap((arg) => (arg.optional ? [] : ['3']))
  const flags = Object.entries(command.flags).flatMap(([name, flag]) =>
    flag.kind === 'text' && flag.required ? [`--${name}`, 'x'] : [],
  )
  return { words: found.words, command, needed: [...args, ...flags] }
}

/** Adds a value if the table omits it and the flag requires one. */
const withValue = (flag: string[]) =>
  flag.length > 1
    ? []
    : [
        [...flag, 'all'],
        [...flag, '5'],
      ]

test('reads the table that compares gh with svc', () => expect(rows.length).toBeGreaterThan(20))

test.each(rows)('the svc command beside %s exists: %s', async (_, ours, differs) => {
  if (ours === 'none') return
  const lines = code(ours).filter((line) => line.startsWith('svc '))
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) {
    const { words, command, needed } = await commandOf(line)
    expect({ line, taken: parses(words, needed, command) }).toEqual({ line, taken: true })
    for (const text of code(differs).filter((each) => each.startsWith('-'))) {
      const flag = splitWords(text)
      const taken = [flag, ...withValue(flag)].some((each) => parses(words, [...needed, ...each], command))
      expect({ line, flag: text, taken }).toEqual({ line, flag: text, taken: true })
    }
  }
})

test('the parser refuses a flag that the command does not have', async () => {
  const { words, needed, command } = await commandOf('svc cr merge')
  expect(parses(words, [...needed, '--squash'], command)).toBe(false)
})
