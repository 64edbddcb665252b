/** The log and traces name the class of an error, which a build could shorten to a letter. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { program } from './harness.ts'

test('the built program keeps the names of the classes of errors', () => {
  const bytes = readFileSync(program)
  for (const name of ['ServiceError', 'GitError', 'SandboxError'])
    expect([name, bytes.includes(`class ${name} extends`)]).toEqual([name, true])
})
