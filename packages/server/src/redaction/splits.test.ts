/** The complete run is `npm run torture -- redaction`. */
import { expect, test } from 'bun:test'
import { seeded, trySplits } from './testing-splits.ts'

test('what comes out does not depend on where a text is cut, and agrees with looking for each form by itself', () => {
  const random = seeded(17)
  for (let round = 0; round < 120; round++) expect(trySplits(random, 8)).toBeNull()
})
