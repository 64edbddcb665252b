/**
 * The text of a prompt is a part of a message in the agent runtime. The id of that part ends with the id of the prompt, so
 * that the message names its prompt after a restart of the server, the daemon or the runtime.
 */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const partOfPrompt = /^prt_[0-9a-f]{12}([0-9a-f]{8})([0-9a-f]{4})([1-8][0-9a-f]{3})([89ab][0-9a-f]{3})([0-9a-f]{12})$/

/** Stricter than a caller's id has to be: a sandbox chooses the ids of its messages. */
export function isPromptId(text: string): boolean {
  return uuid.test(text)
}

/** The end of the part's id. Null for an id that no prompt of the service has. */
export function endOfPromptPart(promptId: string): string | null {
  return isPromptId(promptId) ? promptId.replaceAll('-', '') : null
}

/** Null for a part that does not name a prompt, such as one of a daemon of an earlier version. */
export function promptIdInPart(partId: string): string | null {
  const groups = partOfPrompt.exec(partId)
  return groups === null ? null : groups.slice(1).join('-')
}
