/** Puts the origins of some lines into the order in which they were written: prompts, their calls, and what no call wrote. */
import type { LineOrigin, Origins } from '../queries.ts'

export interface Place {
  path: string
  /** Null for the whole file. */
  hunk: Hunk | null
}

/** Line numbers of one hunk on both sides, inclusive. */
export interface Hunk {
  new: { start: number; end: number }
  old: { start: number; end: number }
}

type Call = Origins['calls'][number]
type Prompt = Origins['prompts'][number]

interface Chapter {
  /** Null for a call before the first prompt that the transcript has. */
  prompt: Prompt | null
  calls: { call: Call; lines: LineOrigin[] }[]
}

export interface Story {
  chapters: Chapter[]
  /** Lines that no call is known to have written. */
  rest: { origin: LineOrigin; commit: Origins['commits'][number] | null; candidates: Candidate[] }[]
}

export interface Candidate {
  call: Call
  prompt: Prompt | null
  reason: LineOrigin['candidates'][number]['reason']
}

export function storyOf(origins: Origins, hunk: Hunk | null): Story {
  const lines = origins.lines.flatMap((line) => within(line, hunk))
  const byCall = Map.groupBy(lines, ({ call_id }) => call_id)
  const promptOf = ({ session_id, prompt_id }: Call) =>
    origins.prompts.find((each) => each.session_id === session_id && each.message_id === prompt_id) ?? null
  const chapters: Chapter[] = []
  for (const call of origins.calls) {
    const own = byCall.get(call.call_id)
    if (own === undefined) continue
    const prompt = promptOf(call)
    const last = chapters.at(-1)
    if (last === undefined || last.prompt !== prompt) chapters.push({ prompt, calls: [{ call, lines: own }] })
    else last.calls.push({ call, lines: own })
  }
  const rest = (byCall.get(null) ?? []).map((origin) => ({
    origin,
    commit: origins.commits.find(({ sha }) => sha === origin.commit_sha) ?? null,
    candidates: origin.candidates.flatMap(({ call_id, reason }) => {
      const call = origins.calls.find((each) => each.call_id === call_id)
      return call === undefined ? [] : [{ call, reason, prompt: promptOf(call) }]
    }),
  }))
  return { chapters, rest }
}

/** The part of a range in the hunk. */
function within(line: LineOrigin, hunk: Hunk | null): LineOrigin[] {
  if (hunk === null) return [line]
  const { start, end } = hunk[line.side]
  const part = { ...line, start: Math.max(line.start, start), end: Math.min(line.end, end) }
  return part.start <= part.end ? [part] : []
}

export function rangeText({ side, start, end }: Pick<LineOrigin, 'side' | 'start' | 'end'>): string {
  const lines = start === end ? `line ${start}` : `lines ${start}–${end}`
  return side === 'old' ? `removed ${lines}` : lines
}
