//! The words of synthetic prompts.
//!
//! Changing one changes every synthetic prompt, and therefore needs a new name for the recipe.

/// Short, common words: one byte picks one, and most tokenizers have a token for each.
pub(super) const WORDS: [&str; 256] = [
    "able", "acid", "act", "age", "air", "amber", "angle", "animal", "answer", "apple", "april",
    "arch", "area", "arm", "army", "arrow", "art", "autumn", "back", "badge", "ball", "band",
    "bank", "barn", "base", "basin", "bath", "beach", "bean", "bear", "bed", "bell", "belt",
    "bench", "bird", "blade", "blue", "board", "boat", "body", "bone", "book", "boot", "border",
    "bottle", "bowl", "box", "branch", "brass", "bread", "brick", "bridge", "broad", "brother",
    "brown", "brush", "bucket", "build", "butter", "button", "cabin", "cable", "cake", "calm",
    "camp", "canal", "candle", "card", "care", "carpet", "cart", "case", "castle", "cat", "cave",
    "chain", "chair", "chalk", "change", "chart", "cheese", "chest", "child", "circle", "city",
    "clay", "clean", "clear", "clever", "clock", "cloth", "cloud", "coast", "coat", "coffee",
    "coin", "cold", "color", "copper", "corn", "corner", "cotton", "count", "court", "cover",
    "crane", "cream", "crowd", "crown", "cup", "curve", "dark", "dawn", "deep", "deer", "desert",
    "desk", "door", "dream", "dress", "drum", "dry", "duck", "dust", "ear", "early", "earth",
    "east", "edge", "egg", "elder", "empty", "engine", "evening", "eye", "face", "fair", "farm",
    "father", "feather", "fence", "field", "fire", "fish", "flag", "flat", "floor", "flower",
    "foot", "forest", "fork", "fox", "frame", "fresh", "friend", "front", "frost", "fruit",
    "garden", "gate", "gift", "glass", "gold", "grain", "grass", "gray", "great", "green",
    "ground", "group", "guard", "guest", "guide", "half", "hall", "hammer", "hand", "harbor",
    "hat", "hay", "heart", "heavy", "hedge", "hill", "history", "hole", "home", "honey", "horse",
    "hotel", "house", "ice", "iron", "island", "jar", "journey", "jungle", "keen", "kettle", "key",
    "king", "kitchen", "kite", "knife", "lake", "lamp", "land", "large", "late", "leaf", "leather",
    "left", "lemon", "letter", "library", "light", "lily", "linen", "lion", "list", "long",
    "lunch", "magic", "map", "marble", "market", "meadow", "metal", "middle", "milk", "mill",
    "minute", "mirror", "month", "moon", "morning", "mother", "mountain", "mouth", "music",
    "narrow", "nature", "needle", "nest", "night", "noise", "north", "oak", "ocean", "office",
    "oil", "old", "onion", "open", "orange", "orchard",
];
