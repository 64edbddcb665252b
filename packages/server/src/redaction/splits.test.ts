/** The complete run is `npm run torture -- redaction`. */
import { expect, test } from 'bun:test'
import { seeded, trySplits } from './testing-splits.ts'

test('redacts a text alike wherever it is split, and like a search for each form', () => {
  const random = seeded(17)
  for (let round = 0; round < 120; round++) expect(trySplits(random, 8)).toBeNull()
})
