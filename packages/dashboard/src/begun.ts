/** What ahead.ts asked for before the page's code was there. The page takes each answer as that of its own question. */

/** null: there is none. */
export type Answer = Promise<{ url: string; response: Response } | null>

export interface Begun {
  /** The project as it stands in the address. */
  encoded: string
  number: number
  tab: string | null
  since: string | null
  answers: { [about in keyof typeof paths]?: Answer }
}

declare global {
  interface Window {
    begun?: Begun | undefined
  }
}

const paths = {
  me: /^\/v1\/accounts\/me$/,
  projects: /^\/v1\/projects$/,
  change: /^\/v1\/projects\/[^/]+\/change-requests$/,
  diff: /^\/v1\/projects\/[^/]+\/change-requests\/[^/]+\/diff$/,
}

/** The answer to this very question, once. */
export async function begunAnswer(request: Request): Promise<Response | null> {
  if (window.begun === undefined || request.method !== 'GET') return null
  const { answers } = window.begun
  const { pathname } = new URL(request.url)
  for (const [about, path] of Object.entries(paths) as [keyof typeof paths, RegExp][]) {
    const answer = answers[about]
    if (answer === undefined || !path.test(pathname)) continue
    const begun = await answer
    if (begun?.url !== request.url || answers[about] !== answer) continue
    delete answers[about]
    return begun.response
  }
  return null
}
