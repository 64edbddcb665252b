/** What the palette finds on the server: change requests and sessions of all projects. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { read } from '../../cache/read.ts'

/** From the last key to the request. */
const restMs = 150

export function useFound(text: string, projectId: string | undefined) {
  const asked = useRested(text.trim())
  const isAsked = text.trim() !== '' && asked !== ''
  const { data, error, isFetching } = useQuery({
    ...read(['search', projectId, asked], '/v1/find', {
      query: { text: asked, ...(projectId === undefined ? {} : { project_id: projectId }) },
    }),
    enabled: isAsked,
    // The rows stay until there are others.
    placeholderData: keepPreviousData,
  })
  return {
    found: isAsked ? data : undefined,
    error: isAsked ? error : null,
    isSearching: isAsked && (isFetching || asked !== text.trim()),
  }
}

function useRested(text: string): string {
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), restMs)
    return () => clearTimeout(timer)
  }, [text])
  return rested
}
