/** The first label of the host name of an app. All projects share these names, so each app stores its own. */

const labelCharsMax = 63

/** Candidates in order of preference; the last is unique because it contains the project id. */
export function hostNames(input: { app: string; projectSlug: string; projectId: string }): string[] {
  // `xn--` marks an internationalized domain name.
  const app = input.app === 'xn' ? 'app-xn' : input.app
  const plain = `${app}--${input.projectSlug}`
  const id = input.projectId.slice(0, 8)
  const room = labelCharsMax - app.length - id.length - 3
  const short = input.projectSlug.slice(0, Math.max(0, room)).replace(/-+$/, '')
  const exact = `${app}--${[short, id].filter((part) => part !== '').join('-')}`
  const longest = `${app.slice(0, 24).replace(/-+$/, '')}--${input.projectId}`
  return [plain, exact, longest].filter((name) => name.length <= labelCharsMax && !isPreview(name))
}

/** Host names of previews take precedence. */
const isPreview = (name: string) => /^[1-9][0-9]{0,4}--[0-9a-f-]{36}$/.test(name)
