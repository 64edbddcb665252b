import { describe, expect, test } from 'bun:test'
import { suggestionBlock, suggestionOf } from './suggestion.ts'

describe('a suggestion in a comment', () => {
  test('is its first suggestion block, with the text around it', () => {
    expect(suggestionOf('Simpler:\n\n```suggestion\na\n\n  b\n```\n\nOr not.\n```suggestion\nc\n```')).toEqual({
      lines: ['a', '', '  b'],
      before: 'Simpler:',
      after: 'Or not.\n```suggestion\nc\n```',
    })
  })

  test.each<[string, string, string[] | null]>([
    ['no block', 'Why?', null],
    ['a block of code', '```ts\nx\n```', null],
    ['a suggestion shown inside another block', '````md\n```suggestion\nx\n```\n````', null],
    ['an empty block, which deletes the lines', '```suggestion\n```', []],
    ['a block with one empty line', '```suggestion\n\n```', ['']],
    ['a block without an end', '```suggestion\nx', ['x']],
    ['a longer fence around a fence', '````suggestion\n```\nx\n```\n````', ['```', 'x', '```']],
    ['Windows line ends', '```suggestion\r\nx\r\n```\r\n', ['x']],
  ])('finds %s', (_, text, lines) => {
    expect(suggestionOf(text)?.lines ?? null).toEqual(lines)
  })

  test.each([[['x']], [[]], [['']], [['```', '````js', 'x']]])('reads its own block of %j', (lines) => {
    expect(suggestionOf(suggestionBlock(lines))?.lines).toEqual(lines)
  })
})
