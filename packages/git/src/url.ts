export type UrlVerdict =
  | { kind: 'allowed'; url: string; pin: string[]; allowProtocols: string[] }
  | { kind: 'refused'; reason: string }
export async function judgeRepositoryUrl(
  _url: string,
  _policy: { allowPrivate: boolean },
  _resolve?: (host: string) => Promise<string[]>,
): Promise<UrlVerdict> {
  throw new Error('judgeRepositoryUrl is not built yet.')
}
