/** The inputs of firing a slot, fixed when it was claimed. */
export interface SlotInputs {
  prompt: string
  agent: string | null
  model: string | null
  user_id: string
  depth: number
  /** The session whose agent requested it; null or absent for a person, a schedule or an unknown caller. */
  parent_session_id?: string | null
}
