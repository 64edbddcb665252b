/** The model of an agent file: `model:` in its front matter, a plain line of YAML. */
export function modelInFrontMatter(text: string): string | null {
  const frontMatter = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[1]
  const value = /^model:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#'"]\S*))?[ \t]*(?:#.*)?\r?$/m.exec(frontMatter ?? '')
  return value?.[1] || value?.[2] || value?.[3] || null
}
