/** The settings of the default branch that a sandbox runs with, and how they differ from the current ones. */
export interface InForce {
  commit: string
  config_dir: string
  agents: string | null
  egress: string[] | null
  idle_minutes: number | null
  /** Settings that only a new sandbox applies. */
  made_with: Record<string, string | null>
}

export interface Changes {
  forRuntime: string[]
  inPlace: string[]
  needsRestart: string[]
}

export function changesBetween(before: InForce, now: InForce): Changes {
  return {
    forRuntime: [
      ...(before.config_dir === now.config_dir ? [] : ['runtime.config_dir']),
      ...(before.agents === now.agents ? [] : ['agents']),
    ],
    inPlace: [
      ...(JSON.stringify(before.egress) !== JSON.stringify(now.egress) ? ['sandbox.egress'] : []),
      ...(before.idle_minutes === now.idle_minutes ? [] : ['sandbox.idle_minutes']),
    ],
    needsRestart: Object.keys(now.made_with).filter(
      // A version that did not know the setting has left it out.
      (name) => (before.made_with[name] ?? null) !== now.made_with[name],
    ),
  }
}
