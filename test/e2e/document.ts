import { expect } from 'bun:test'
import type { Ran } from './harness.ts'

/** The JSON document that a command printed, which had nothing else to say. */
export async function document<T>(running: Promise<Ran>): Promise<T> {
  const { code, stdout, stderr } = await running
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as T
}
