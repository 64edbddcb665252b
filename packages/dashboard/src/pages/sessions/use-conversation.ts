/** All that is known of a conversation: its newest messages, which the stream tells, and those before them, page by page. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { type Message, transcriptPages } from '../../queries.ts'

export interface Conversation {
  /** Oldest first. */
  messages: Message[]
  earlier: {
    /** Of the messages before these: some may be there, they are being asked for, there are none. */
    state: 'there' | 'loading' | 'none'
    error: Error | null
    load: () => void
  }
}

/** `told`: by the stream, and `isWhole` when it told all there is. */
export function useConversation(
  { projectId, sessionId }: { projectId: string; sessionId: string },
  { told, isWhole }: { told: Message[]; isWhole: boolean },
): Conversation {
  const { data, error, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    ...transcriptPages(projectId, sessionId),
    // Nobody may ever scroll up.
    enabled: false,
  })
  const before = useMemo(() => data?.pages.toReversed().flatMap((page) => page.data.messages) ?? [], [data])
  const messages = useMemo(() => joined(before, told), [before, told])
  const load = useCallback(() => {
    // A press and a scroll ask for the same page.
    void fetchNextPage({ cancelRefetch: false })
  }, [fetchNextPage])
  const isAll = isWhole || (data !== undefined && !hasNextPage)
  return {
    messages,
    earlier: { state: isFetching ? 'loading' : isAll ? 'none' : 'there', error: isFetching ? null : error, load },
  }
}

/** The first page reaches into what was told, since a page begins at the end; what was told is as it is now. */
function joined(before: Message[], told: Message[]): Message[] {
  const first = told[0]
  if (first === undefined || before.length === 0) return told
  return [...before.filter((message) => isBefore(message, first)), ...told]
}

/** In the service's order: by time, then by id. */
function isBefore(one: Message, other: Message): boolean {
  return one.created_at === other.created_at ? one.message_id < other.message_id : one.created_at < other.created_at
}
