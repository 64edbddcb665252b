/** Joins the newest messages from the stream with earlier pages of the transcript. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { type Message, transcriptPages } from '../queries.ts'

export interface Conversation {
  /** Oldest first. */
  messages: Message[]
  earlier: {
    /** Whether there are messages before these, or they are loading. */
    state: 'there' | 'loading' | 'none'
    error: Error | null
    load: () => void
  }
}

/** `newest` comes from the stream. `isWhole` means that it is the whole conversation. */
export function useConversation(
  { projectId, sessionId }: { projectId: string; sessionId: string },
  { newest, isWhole }: { newest: Message[]; isWhole: boolean },
): Conversation {
  const { data, error, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    ...transcriptPages(projectId, sessionId),
    // Earlier pages load only when the reader scrolls up.
    enabled: false,
  })
  const before = useMemo(() => data?.pages.toReversed().flatMap((page) => page.data.messages) ?? [], [data])
  const messages = useMemo(() => joined(before, newest), [before, newest])
  const load = useCallback(() => {
    // A click and a scroll must not load the same page twice.
    void fetchNextPage({ cancelRefetch: false })
  }, [fetchNextPage])
  const isAll = isWhole || (data !== undefined && !hasNextPage)
  return {
    messages,
    earlier: { state: isFetching ? 'loading' : isAll ? 'none' : 'there', error: isFetching ? null : error, load },
  }
}

/** A page starts at the end, so the first one overlaps with the stream. The stream's messages are newer. */
function joined(before: Message[], newest: Message[]): Message[] {
  const first = newest[0]
  if (first === undefined || before.length === 0) return newest
  return [...before.filter((message) => isBefore(message, first)), ...newest]
}

/** In the service's order: by time, then by id. */
function isBefore(one: Message, other: Message): boolean {
  return one.created_at === other.created_at ? one.message_id < other.message_id : one.created_at < other.created_at
}
