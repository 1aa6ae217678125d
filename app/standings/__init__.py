"""Results that stand on boards, as everybody may see them: the newest, those of a method, all methods of a phase."""
